// Groups of threads are for kernels; the host only names the namespace.
#pragma once
namespace cooperative_groups {}
