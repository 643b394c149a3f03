/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that do not compile here, because each has a safer form. Force-included first in every file,
 * after the system headers that declare them.
 */
#ifndef OLDDOG_BASE_BANNED_H
#define OLDDOG_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#undef strcpy
#define strcpy(...) banned_strcpy_use_buf_or_snprintf
#undef strcat
#define strcat(...) banned_strcat_use_buf_or_snprintf
#undef strncpy
#define strncpy(...) banned_strncpy_use_memcpy_or_snprintf
#undef strncat
#define strncat(...) banned_strncat_use_buf_or_snprintf
#undef strtok
#define strtok(...) banned_strtok_use_struct_str
#undef sprintf
#define sprintf(...) banned_sprintf_use_snprintf
#undef vsprintf
#define vsprintf(...) banned_vsprintf_use_vsnprintf
#undef gmtime
#define gmtime(...) banned_gmtime_use_gmtime_r
#undef localtime
#define localtime(...) banned_localtime_use_localtime_r
#undef mktime
#define mktime(...) banned_mktime_use_timegm
#undef atoi
#define atoi(...) banned_atoi_use_str_to_u64
#undef atol
#define atol(...) banned_atol_use_str_to_u64
#undef atof
#define atof(...) banned_atof_use_str_to_double
#undef strtol
#define strtol(...) banned_strtol_use_str_to_i64
#undef strtoul
#define strtoul(...) banned_strtoul_use_str_to_u64
#undef rand
#define rand(...) banned_rand_use_philox
#undef system
#define system(...) banned_system_use_posix_spawn
#undef popen
#define popen(...) banned_popen_use_posix_spawn

#endif
