import { parentPort } from 'node:worker_threads';
import { CLOSE, type CommitParcel, packCommit, unpackOrder } from './append-parcel.ts';
import { Committer } from './committer.ts';
import { LogSeals } from './log-seals.ts';
import { faultOf, type SqliteFault } from '../fault.ts';
import type { KeyList } from '../../../runtime/cryptography/sealing.ts';
import { threadData } from '../../../runtime/util/thread-data.ts';
import { must } from '../../../domain/values/must.ts';

/* The thread that commits batches while the main thread continues to serve requests. */

export type AppendReply = CommitParcel | { readonly fault: SqliteFault };

export interface AppendWorkerData {
  readonly dataDir: string;
  readonly sealKeys: KeyList | null;
}

const port = must(parentPort);
const { dataDir, sealKeys } = threadData<AppendWorkerData>();
const committer = new Committer(dataDir, sealKeys && new LogSeals(sealKeys));
let failed: SqliteFault | null = null;

port.on('message', (order: string) => {
  if (order === CLOSE) {
    committer.close();
    port.close();
  } else {
    port.postMessage(answer(order));
  }
});

/** After a failure with unknown outcome, the batches that are already queued fail too. */
function answer(order: string): AppendReply {
  if (failed) return { fault: failed };
  try {
    const { jobs, tail } = unpackOrder(order);
    return packCommit(committer.commit(jobs, tail), jobs);
  } catch (error) {
    const fault = faultOf(error);
    if (fault.kind === 'fatal') failed = fault;
    return { fault };
  }
}
