// The place of this process among those that a launcher (mpirun, srun) has started together.
#pragma once

namespace saltus::cli {

struct Ranks {
  int rank = 0;   ///< from 0 on
  int size = 1;   ///< processes in all
  int local = 1;  ///< of these, on this machine
};

/// From the environment that Open MPI, MPICH, Intel MPI and Slurm give to their processes; one process, if it was
/// started by hand. No message passing is needed: processes meet in the folder of a study.
Ranks find_ranks();

}  // namespace saltus::cli
