import { syncBuiltinESMExports } from 'node:module';
import workerThreads from 'node:worker_threads';

/*
 * Preloaded into a service whose threads are to be profiled: Node passes its flag on to no thread that is started with
 * arguments of its own. Each leaves a profile under its name.
 */

const folder = process.env.BENCH_PROFILES;
const { Worker, isMainThread } = workerThreads;
if (isMainThread) {
  workerThreads.Worker = class extends Worker {
    constructor(url, options) {
      const flags = ['--cpu-prof', `--cpu-prof-dir=${folder}`, `--cpu-prof-name=${options.name}.cpuprofile`];
      super(url, { ...options, execArgv: [...(options.execArgv ?? []), ...flags] });
    }
  };
  syncBuiltinESMExports();
}
