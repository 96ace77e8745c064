// What tests leave out under ThreadSanitizer (`make test-threads`).
#pragma once

#include <gtest/gtest.h>

#ifdef __SANITIZE_THREAD__
#define CUDASIM_SKIP_UNDER_THREAD_SANITIZER(reason) GTEST_SKIP() << "ThreadSanitizer: " reason
#else
#define CUDASIM_SKIP_UNDER_THREAD_SANITIZER(reason) static_cast<void>(0)
#endif
