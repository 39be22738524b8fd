import { parentPort } from 'node:worker_threads';
import { evmAddress, tronAddress } from './address-format.ts';
import { nativeChildPublicKey, portableChildPublicKey } from './child-public-key.ts';
import type { DerivationAnswer, DerivationJob } from './derivation-job.ts';

const childPublicKey = nativeChildPublicKey() ?? portableChildPublicKey;

parentPort?.on('message', ({ id, key, format, fromIndex, count }: DerivationJob) => {
  const address = format === 'evm' ? evmAddress : tronAddress;
  const answer: DerivationAnswer = { id, addresses: Array.from({ length: count }, (_, i) => address(childPublicKey(key, fromIndex + i))) };
  parentPort!.postMessage(answer);
});
