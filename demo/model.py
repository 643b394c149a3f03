# SPDX-License-Identifier: Apache-2.0
"""A small real model in numpy: two convolutions and a linear layer, trained by momentum. Arrays are float32, NCHW."""

import numpy as np


def columns(x, k, stride):
    """Patches of k x k as rows: (N, h, w, C * k * k). What a convolution multiplies by its weights."""
    view = np.lib.stride_tricks.sliding_window_view(x, (k, k), axis=(2, 3))[:, :, ::stride, ::stride]
    n, c, h, w = view.shape[:4]
    return view.transpose(0, 2, 3, 1, 4, 5).reshape(n, h, w, c * k * k)


def scatter(d, shape, k, stride):
    """The reverse of columns(): adds each patch's gradient where it came from."""
    n, h, w, _ = d.shape
    d = d.reshape(n, h, w, shape[1], k, k)
    to = np.zeros(shape, np.float32)
    for i in range(k):
        for j in range(k):
            to[:, :, i:i + stride * h:stride, j:j + stride * w:stride] += d[..., i, j].transpose(0, 3, 1, 2)
    return to


class Model:
    """32 x 32 or larger RGB pictures into n classes."""

    def __init__(self, n_classes, seed=7):
        r = np.random.Generator(np.random.PCG64(seed))

        def weights(n_in, n_out):
            return (r.standard_normal((n_in, n_out)) * np.sqrt(2 / n_in)).astype(np.float32)
        self.p = {"w1": weights(3 * 25, 24), "b1": np.zeros(24, np.float32), "w2": weights(24 * 9, 48),
                  "b2": np.zeros(48, np.float32), "w3": weights(96, n_classes), "b3": np.zeros(n_classes, np.float32)}
        self.v = {k: np.zeros_like(p) for k, p in self.p.items()}

    def forward(self, x):
        p, s = self.p, {}
        s["c1"] = columns(x, 5, 2)
        s["a1"] = np.maximum(s["c1"] @ p["w1"] + p["b1"], 0).transpose(0, 3, 1, 2)
        s["c2"] = columns(s["a1"], 3, 2)
        s["a2"] = np.maximum(s["c2"] @ p["w2"] + p["b2"], 0)
        # Mean and spread of every feature over the picture: what is there, wherever it is.
        s["mean"], s["dev"] = s["a2"].mean((1, 2)), None
        s["dev"] = s["a2"] - s["mean"][:, None, None]
        s["std"] = np.sqrt((s["dev"] ** 2).mean((1, 2)) + 1e-3)
        s["pooled"] = np.concatenate([s["mean"], s["std"]], 1)
        return s["pooled"] @ p["w3"] + p["b3"], s

    def gradients(self, x, labels):
        """(sum of losses, number right, gradients of the sum) of one rank's part of a batch."""
        p, (logits, s) = self.p, self.forward(x)
        n, (h, w) = len(x), s["a2"].shape[1:3]
        logits = logits - logits.max(1, keepdims=True)
        probability = np.exp(logits)
        probability /= probability.sum(1, keepdims=True)
        loss = -np.log(probability[np.arange(n), labels] + 1e-12).sum()
        right = int((probability.argmax(1) == labels).sum())
        d = probability.copy()
        d[np.arange(n), labels] -= 1
        g = {"w3": s["pooled"].T @ d, "b3": d.sum(0)}
        d = d @ p["w3"].T
        d_mean, d_std = d[:, :48], d[:, 48:] / s["std"]
        d = (d_mean[:, None, None] + d_std[:, None, None] * s["dev"]) / (h * w) * (s["a2"] > 0)
        g["w2"], g["b2"] = np.einsum("nhwi,nhwo->io", s["c2"], d, optimize=True), d.sum((0, 1, 2))
        d = scatter(d @ p["w2"].T, s["a1"].shape, 3, 2) * (s["a1"] > 0)
        d = d.transpose(0, 2, 3, 1)
        g["w1"], g["b1"] = np.einsum("nhwi,nhwo->io", s["c1"], d, optimize=True), d.sum((0, 1, 2))
        return float(loss), right, g

    def step(self, gradients, n, rate, momentum=0.9, decay=1e-4):
        for k, p in self.p.items():
            self.v[k] = momentum * self.v[k] + gradients[k] / n + decay * p
            p -= rate * self.v[k]

    def accuracy(self, x, labels):
        return float((self.forward(x)[0].argmax(1) == labels).mean())
