import { workerData } from 'node:worker_threads';

/**
 * What this thread was started with. Types do not cross the border between threads: the starter's `workerData` must
 * have the same one.
 */
export function threadData<Data>(): Data;
export function threadData(): unknown {
  const data: unknown = workerData;
  return data;
}
