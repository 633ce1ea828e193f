// SPDX-License-Identifier: Apache-2.0
// MPI_Allreduce as its library does it: `mpirun -n 2 mpi_allreduce BYTES
// ROUNDS` prints one line a round, its seconds on rank 0. The peer of
// comm_bench; nothing of ours is in it.
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int numel = argc > 1 ? std::atoi(argv[1]) / 4 : 1;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 1;
  std::vector<float> values(static_cast<std::size_t>(numel), 1.0F);
  std::vector<double> seconds;
  for (int i = 0; i < rounds + 3; ++i) {
    values.assign(values.size(), 1.0F);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    MPI_Allreduce(MPI_IN_PLACE, values.data(), numel, MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
    if (i >= 3) seconds.push_back(MPI_Wtime() - begin);
  }
  if (rank == 0)
    for (const double s : seconds) std::printf("%.9f\n", s);
  MPI_Finalize();
}
