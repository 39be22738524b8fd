import { parentPort, workerData } from 'node:worker_threads';
import { type AppendParcel, unpackJobs } from './append-parcel.ts';
import { type Commit, Committer, type Tail } from './committer.ts';
import { faultOf, type SqliteFault } from './sqlite-fault.ts';

/* The thread that commits batches while the main thread goes on serving. */

export type AppendOrder = { readonly parcel: AppendParcel; readonly tail: Tail } | 'close';
export type AppendReply = { readonly commit: Commit } | { readonly fault: SqliteFault };

const port = parentPort!;
const committer = new Committer((workerData as { dataDir: string }).dataDir);

port.on('message', (order: AppendOrder) => {
  if (order === 'close') {
    committer.close();
    port.close();
  } else {
    port.postMessage(answer(order.parcel, order.tail));
  }
});

function answer(parcel: AppendParcel, tail: Tail): AppendReply {
  try {
    return { commit: committer.commit(unpackJobs(parcel), tail) };
  } catch (error) {
    return { fault: faultOf(error) };
  }
}
