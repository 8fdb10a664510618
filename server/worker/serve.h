// A worker's conversation with pyascd, over descriptor kWorkerSocket.
#ifndef PYASC_SERVER_WORKER_SERVE_H
#define PYASC_SERVER_WORKER_SERVE_H

#include "server/process/frame.h"
#include "server/worker/engine.h"
#include "server/worker/run_job.h"

namespace pyasc::server {

// Serves until the other end closes. `runner` may be null: a compile worker. Returns the exit code.
int ServeWorker(FrameChannel channel, const Engine &engine, DeviceRunner *runner);

} // namespace pyasc::server

#endif // PYASC_SERVER_WORKER_SERVE_H
