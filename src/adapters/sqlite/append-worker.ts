import { parentPort, workerData } from 'node:worker_threads';
import { type AppendParcel, type CommitParcel, packCommit, unpackJobs } from './append-parcel.ts';
import { Committer, type Tail } from './committer.ts';
import { faultOf, type SqliteFault } from './sqlite-fault.ts';

/* The thread that commits batches while the main thread goes on serving. */

export type AppendOrder = { readonly parcel: AppendParcel; readonly tail: Tail | null } | 'close';
export type AppendReply = { readonly parcel: CommitParcel } | { readonly fault: SqliteFault };

const port = parentPort!;
const committer = new Committer((workerData as { dataDir: string }).dataDir);
let failed: SqliteFault | null = null;

port.on('message', (order: AppendOrder) => {
  if (order === 'close') {
    committer.close();
    port.close();
  } else {
    port.postMessage(answer(order.parcel, order.tail));
  }
});

/** After a failure of which nothing is known, the batches that are on their way fail too. */
function answer(parcel: AppendParcel, tail: Tail | null): AppendReply {
  if (failed) return { fault: failed };
  try {
    return { parcel: packCommit(committer.commit(unpackJobs(parcel), tail)) };
  } catch (error) {
    const fault = faultOf(error);
    if (fault.kind === 'fatal') failed = fault;
    return { fault };
  }
}
