import { parentPort } from 'node:worker_threads';
import { checkedAddresses } from './checked-addresses.ts';
import { nativeChildDerivation, portableChildDerivation } from './child-public-key.ts';
import type { DerivationAnswer, DerivationJob } from './derivation-job.ts';

const derivation = nativeChildDerivation() ?? portableChildDerivation;

parentPort?.on('message', (job: DerivationJob) => {
  parentPort!.postMessage({ id: job.id, addresses: checkedAddresses(derivation, job) } satisfies DerivationAnswer);
});
