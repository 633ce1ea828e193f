// SPDX-License-Identifier: Apache-2.0
// A disk that stops answering, loaded before the program (LD_PRELOAD): as long
// as the file $DISK_HANGS_WHILE is there, fsync() does not return.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

extern "C" int fsync(int file) {
  const char* sign = std::getenv("DISK_HANGS_WHILE");
  while (sign != nullptr && ::access(sign, F_OK) == 0) ::usleep(10'000);
  return static_cast<int>(::syscall(SYS_fsync, file));
}
