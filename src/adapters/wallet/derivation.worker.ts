import { parentPort } from 'node:worker_threads';
import { checkedAddresses } from './checked-addresses.ts';
import { nativeChildDerivation, portableChildDerivation } from './child-public-key.ts';
import type { DerivationAnswer, DerivationJob } from './derivation-job.ts';
import { must } from '../../domain/values/must.ts';

const derivation = nativeChildDerivation() ?? portableChildDerivation;

parentPort?.on('message', (job: DerivationJob) => {
  must(parentPort).postMessage({ id: job.id, addresses: checkedAddresses(derivation, job) } satisfies DerivationAnswer);
});
