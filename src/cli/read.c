/* SPDX-License-Identifier: Apache-2.0 */
/* olddog read: runs the consumer's engine in this process, and prints what comes out. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "base/vec.h"
#include "cli/read_out.h"
#include "cli/verbs.h"
#include "feed/resume.h"

/* Waits are kept to tell their percentiles: of so many batches, the first ones. */
#define MAX_WAITS (1u << 20)
#define PROGRESS_NS NS_PER_S

static struct {
	uint64_t dp_rank, dp_size, from, n_samples, n_epochs, n_workers, batch, time_limit_s;
	const char *digest, *out, *state;
	struct opt_texts fields;
	bool json;
} opts = {.dp_size = 1, .from = UINT64_MAX, .batch = UINT64_MAX, .n_epochs = 1};

static const struct opt table[] = {
	{"dp-rank", 0, OPT_U64, &opts.dp_rank, "R", "data-parallel rank (default 0)"},
	{"dp-size", 0, OPT_U64, &opts.dp_size, "W", "number of data-parallel ranks (default 1)"},
	{"from", 0, OPT_U64, &opts.from, "POSITION", "first position (default 0, or what --state says)"},
	{"samples", 'n', OPT_U64, &opts.n_samples, "N", "stop after N samples of this rank"},
	{"epochs", 0, OPT_U64, &opts.n_epochs, "N", "epochs to read (default 1; 0: without end)"},
	{"batch", 'b', OPT_U64, &opts.batch, "B", "global batch, in place of the spec's"},
	{"field", 'f', OPT_TEXTS, &opts.fields, "NAME", "only this field; may be repeated (default: all)"},
	{"digest", 0, OPT_TEXT, &opts.digest, "batch|sample", "print SHA-256 of what is delivered"},
	{"out", 'o', OPT_TEXT, &opts.out, "DIR", "write DIR/POSITION.FIELD.npy"},
	{"state", 0, OPT_TEXT, &opts.state, "FILE", "go on from FILE's position, and write it at the end"},
	{"workers", 0, OPT_U64, &opts.n_workers, "N", "worker processes (default: as many as processors)"},
	{"time-limit", 0, OPT_U64, &opts.time_limit_s, "S", "seconds for one sample, then another worker tries (default 60)"},
	{"json", 0, OPT_FLAG, &opts.json, NULL, "JSON in place of text"},
	{"stats", 0, OPT_FLAG, &cmd_stats, NULL, CMD_STATS_HELP},
	{NULL},
};

struct run {
	struct loop *loop;
	struct plan *plan;
	struct engine *engine;
	struct stream *stream;
	enum read_digest digest;
	struct spec *spec;		/* the plan's, with the fields that were asked for */
	struct watch signals;
	int signal;			/* that ended it */
	bool ended, closed;
	bool stopped;		/* by the engine, not by what became of a batch */
	int r;
	struct err err;
	uint64_t start_ns, start_cpu_ns, asked_ns, told_ns;
	VEC(uint64_t) waits;
	struct read_figures figures;
};

/* What was asked. */

static int take_digest(enum read_digest *ret)
{
	if (!opts.digest)
		return 0;
	*ret = strcmp(opts.digest, "batch") == 0 ? DIGEST_BATCH : strcmp(opts.digest, "sample") == 0 ? DIGEST_SAMPLE :
		DIGEST_NONE;
	if (*ret)
		return 0;
	log_error("--digest=%s: it is either batch or sample", opts.digest);
	return -EINVAL;
}

static int check_usage(struct run *run)
{
	if (take_digest(&run->digest) < 0)
		return CMD_USAGE;
	if (opts.dp_size < 1 || opts.dp_size > UINT32_MAX || opts.dp_rank >= opts.dp_size) {
		log_error("--dp-rank %llu --dp-size %llu: ranks go from 0 to dp-size - 1",
			(unsigned long long)opts.dp_rank, (unsigned long long)opts.dp_size);
		return CMD_USAGE;
	}
	if (opts.batch == 0) {
		log_error("--batch 0: a batch has at least one sample");
		return CMD_USAGE;
	}
	if (opts.n_workers > 1024) {
		log_error("--workers %llu: at most 1024", (unsigned long long)opts.n_workers);
		return CMD_USAGE;
	}
	return CMD_DONE;
}

static int take_fields(struct run *run, struct err *e)
{
	int r = spec_copy(plan_spec(run->plan), &run->spec);

	if (r < 0)
		return err_set(e, r, "no memory for a spec");
	return opts.fields.n ? spec_select_fields(run->spec, opts.fields.texts, opts.fields.n, e) : 0;
}

/* The state file. */

static int state_store(struct store **ret, char **ret_path, struct err *e)
{
	return store_open(opts.state, ret, ret_path, e);
}

static int state_apply(struct run *run, const struct resume *state, struct err *e)
{
	uint8_t id[SHA256_BYTES];
	int r = resume_check(state, plan_order_id(run->plan), e);

	if (r < 0)
		return err_prefix(e, r, "%s: ", opts.state);
	if (state->has_fields_id && spec_fields_id(run->spec, id) == 0 && memcmp(id, state->fields_id, sizeof(id)) != 0)
		log_warn("%s was written with other fields or transforms: positions go on, pixels differ", opts.state);
	if (opts.from == UINT64_MAX)
		opts.from = state->consumed;
	return 0;
}

static int state_load(struct run *run, struct err *e)
{
	AUTO_STORE struct store *store = NULL;
	AUTO_FREE char *path = NULL;
	AUTO_FREE void *text = NULL;
	struct resume state;
	size_t n;
	int r = opts.state ? state_store(&store, &path, e) : -ENOENT;

	if (r == 0)
		r = store_read_all(store, path, RESUME_MAX_BYTES, &text, &n, e);
	if (r == -ENOENT)
		return 0; /* the first run */
	r = r < 0 ? r : resume_parse(text, n, &state, e);
	return r < 0 ? r : state_apply(run, &state, e);
}

static int state_save(struct run *run, struct err *e)
{
	AUTO_STORE struct store *store = NULL;
	AUTO_FREE char *path = NULL;
	AUTO_FREE char *text = NULL;
	struct resume state = {.has_fields_id = true, .consumed = stream_consumed(run->stream)};
	int r = opts.state ? state_store(&store, &path, e) : 0;

	if (r < 0 || !opts.state)
		return r;
	memcpy(state.order_id, plan_order_id(run->plan), SHA256_BYTES);
	r = spec_fields_id(run->spec, state.fields_id);
	text = resume_format(&state);
	if (r < 0 || !text)
		return err_set(e, -ENOMEM, "no memory for the state");
	return store_write_all(store, path, text, strlen(text), e);
}

/* The run. */

static void progress(struct run *run)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (!isatty(STDERR_FILENO) || now_ns - run->told_ns < PROGRESS_NS)
		return;
	run->told_ns = now_ns;
	fprintf(stderr, "\r%llu samples, %.0f/s ", (unsigned long long)run->figures.n_samples,
		(double)run->figures.n_samples * 1e9 / (double)(now_ns - run->start_ns));
}

static int use_batch(struct run *run, const struct stream_batch *b)
{
	uint64_t now_ns = clock_monotonic_ns();
	int r = 0;

	if (run->waits.n < run->waits.max && VEC_PUSH(&run->waits, now_ns - run->asked_ns) < 0)
		return err_set(&run->err, -ENOMEM, "no memory to keep %zu waits", run->waits.n);
	run->figures.n_samples += b->head.n_real;
	if (run->digest)
		r = read_print_digest(run->digest, opts.json, b, &run->err);
	if (r == 0 && opts.out)
		r = read_write_npy(opts.out, b, &run->err);
	progress(run);
	run->asked_ns = clock_monotonic_ns();
	return r;
}

static void take(void *ctx)
{
	struct run *run = ctx;
	struct stream_batch *b;
	int r = 0;

	while (r == 0 && !run->ended) {
		r = stream_next(run->stream, &b, &run->err);
		run->stopped = r < 0 && r != -EAGAIN && r != E_END;
		if (r < 0)
			break;
		r = use_batch(run, b);
		stream_release(run->stream, b);
	}
	if (r == -EAGAIN || run->ended)
		return;
	run->r = r == E_END ? 0 : r;
	run->ended = true;
}

static void on_signal(struct watch *w, uint32_t revents)
{
	struct run *run = container_of(w, struct run, signals);
	struct signalfd_siginfo info;

	if (read(w->fd, &info, sizeof(info)) != sizeof(info))
		return;
	run->signal = (int)info.ssi_signo;
	run->ended = true;
}

static int catch_signals(struct run *run, struct err *e)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_set(e, -errno, "sigprocmask: %s", err_text(-errno));
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? err_set(e, -errno, "signalfd: %s", err_text(-errno)) :
		watch_start(&run->signals, run->loop, fd, EPOLLIN, on_signal);
}

static void on_closed(void *ctx)
{
	((struct run *)ctx)->closed = true;
}

static int open_engine(struct run *run, struct err *e)
{
	struct engine_conf conf = {.loop = run->loop, .plan = run->plan, .spec = run->spec,
		.uncollated = run->digest == DIGEST_SAMPLE || (opts.out && !run->digest),
		.n_workers = (unsigned)opts.n_workers, .worker_time_ns = MIN(opts.time_limit_s, 86400u) * NS_PER_S};
	struct stream_conf sc = {.dp_rank = (uint32_t)opts.dp_rank, .dp_size = (uint32_t)opts.dp_size,
		.global_batch = opts.batch == UINT64_MAX ? 0 : opts.batch, .consumed = opts.from == UINT64_MAX ? 0 : opts.from,
		.n_epochs = opts.n_epochs, .n_samples = opts.n_samples, .ready = take, .ctx = run};
	int r = engine_new(&conf, &run->engine, e);

	return r < 0 ? r : stream_open(run->engine, &sc, &run->stream, e);
}

static int run_loop(struct run *run, struct err *e)
{
	int r = catch_signals(run, e);

	if (r < 0)
		return r;
	run->start_ns = run->asked_ns = run->told_ns = clock_monotonic_ns();
	run->start_cpu_ns = clock_cpu_ns();
	take(run);
	r = loop_run_until(run->loop, &run->ended);
	if (r < 0)
		return err_set(e, r, "the event loop: %s", err_text(r));
	return run->r < 0 ? err_set(e, run->r, "%s", err_words(&run->err, run->r)) : 0;
}

/* Lines that could not be written were not delivered: a state that counts them would lose their positions. */
static int keep_state(struct run *run, struct err *e)
{
	int r = run->digest ? read_flush_output(e) : 0;

	return r < 0 ? r : state_save(run, e);
}

/* What came before a sample that stopped the job was delivered: who has dealt with it goes on behind. */
static int give_up(struct run *run, int r)
{
	struct err e = {0};
	int r2 = run->stopped ? keep_state(run, &e) : 0;

	if (r2 < 0)
		log_error("%s", err_words(&e, r2));
	return r;
}

static int finish(struct run *run, struct err *e)
{
	struct read_figures *f = &run->figures;
	int r = keep_state(run, e);

	f->wall_ns = clock_monotonic_ns() - run->start_ns;
	f->host_cpu_ns = clock_cpu_ns() - run->start_cpu_ns;
	f->n_batches = run->waits.n;
	f->wait_ns = run->waits.ptr;
	f->consumed = stream_consumed(run->stream);
	engine_counts_get(run->engine, &f->counts);
	if (r == 0 && !run->digest)
		r = read_print_figures(f, opts.json) == CMD_DONE ? 0 : -ENOMEM;
	if (run->signal)
		log_error("interrupted; go on with --from %llu", (unsigned long long)f->consumed);
	return r;
}

static void close_all(struct run *run)
{
	if (run->signals.loop) {
		watch_stop(&run->signals);
		close(run->signals.fd);
	}
	if (run->engine) {
		engine_close(run->engine, on_closed, run);
		loop_run_until(run->loop, &run->closed);
	}
	spec_free(run->spec);
	plan_free(run->plan);
	loop_free(run->loop);
	vec_release(&run->waits);
}

static void warn(void *ctx, const char *words)
{
	log_warn("%s", words);
}

static int run_all(struct run *run, int n, char **operands, struct err *e)
{
	struct plan_conf conf = {.warn = warn};
	int r = plan_open_any((const char *const *)operands, (unsigned)n, &conf, &run->plan, e);

	r = r < 0 ? r : take_fields(run, e);
	r = r < 0 ? r : state_load(run, e);
	if (r == 0 && opts.out && mkdir(opts.out, 0777) < 0 && errno != EEXIST)
		r = err_set(e, -errno, "%s: %s", opts.out, err_text(-errno));
	if (r == 0 && (r = loop_new(&run->loop)) < 0)
		err_set(e, r, "an event loop: %s", err_text(r));
	r = r < 0 ? r : open_engine(run, e);
	r = r < 0 ? r : run_loop(run, e);
	return r < 0 ? give_up(run, r) : finish(run, e);
}

static int read_run(int n, char **operands)
{
	struct run run = {.waits = VEC_MAX(MAX_WAITS)};
	struct err e = {0};
	int status = check_usage(&run), r;

	if (status != CMD_DONE)
		return status;
	r = run_all(&run, n, operands, &e);
	status = r < 0 ? cmd_failed(&e, r) : run.signal ? CMD_FAILED : CMD_DONE;
	close_all(&run);
	return status;
}

const struct cmd cmd_read = {
	.name = "read",
	.operands = "PLAN|SPEC|PATH..",
	.help = "prepare samples as a training job would get them",
	.opts = table,
	.min_operands = 1,
	.max_operands = 4096,
	.run = read_run,
};
