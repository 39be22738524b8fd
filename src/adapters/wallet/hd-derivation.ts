import { Worker } from 'node:worker_threads';
import type { Mode } from '../../domain/values/ids.ts';
import type { AddressDeriver } from '../../ports/chain/addresses.ts';
import { HARDENED_OFFSET } from './child-public-key.ts';
import type { DerivationAnswer, DerivationJob } from './derivation-job.ts';
import { fingerprintOf, readExtendedPublicKey } from './extended-public-key.ts';
import { threadEnvironment } from '../../runtime/util/thread-environment.ts';

/** Maximum number of addresses per job, because the worker serves several derivers in turn. */
const MAX_JOB = 1024;

export interface HdDerivation {
  /**
   * Addresses of `m/44'/60'/0'/0/i` (EVM) or `m/44'/195'/0'/0/i` (TRON) from the branch's extended public key. Throws
   * `InvalidExtendedPublicKey`.
   */
  deriver(mode: Mode, family: 'evm' | 'tron', xpub: string): AddressDeriver;
  close(): Promise<void>;
}

interface Waiting {
  resolve(addresses: string[]): void;
  reject(error: Error): void;
}

/** Watch-only derivation in a worker thread, so that no request waits for elliptic curves. */
export function startHdDerivation(): HdDerivation {
  const waiting = new Map<number, Waiting>();
  let nextId = 0;
  let closed: Error | null = null;
  const worker = new Worker(new URL('./derivation.worker.ts', import.meta.url), {
    name: 'addresses',
    env: threadEnvironment(),
  });
  worker.unref();

  const failAll = (error: Error): void => {
    closed ??= error;
    for (const job of waiting.values()) job.reject(error);
    waiting.clear();
  };
  worker.on('message', ({ id, addresses }: DerivationAnswer) => {
    waiting.get(id)?.resolve(addresses);
    waiting.delete(id);
    if (waiting.size === 0) worker.unref();
  });
  worker.on('error', (error) => failAll(error instanceof Error ? error : new Error(String(error))));
  worker.on('exit', () => failAll(new Error('the address derivation thread has ended')));

  const run = (job: Omit<DerivationJob, 'id'>): Promise<string[]> =>
    new Promise((resolve, reject) => {
      if (closed) return reject(closed);
      const id = nextId++;
      waiting.set(id, { resolve, reject });
      worker.ref();
      worker.postMessage({ ...job, id } satisfies DerivationJob);
    });

  return {
    deriver: (mode, family, xpub) => {
      const key = readExtendedPublicKey(xpub);
      return {
        family,
        mode,
        capacity: HARDENED_OFFSET,
        source: { mode, family, fingerprint: fingerprintOf(key), keys: null },
        derive: async (fromIndex, count) => {
          assertRange(fromIndex, count);
          const addresses: string[] = [];
          for (let done = 0; done < count; done += MAX_JOB) {
            addresses.push(
              ...(await run({
                key,
                format: family,
                fromIndex: fromIndex + done,
                count: Math.min(MAX_JOB, count - done),
              })),
            );
          }
          return addresses;
        },
      };
    },
    close: async () => {
      failAll(new Error('address derivation was closed'));
      await worker.terminate();
    },
  };
}

function assertRange(fromIndex: number, count: number): void {
  if (
    !Number.isSafeInteger(fromIndex) ||
    fromIndex < 0 ||
    !Number.isSafeInteger(count) ||
    count < 0 ||
    fromIndex + count > HARDENED_OFFSET
  ) {
    throw new RangeError(`no such derivation indexes: ${count} from ${fromIndex}`);
  }
}
