import { setTimeout as sleep } from 'node:timers/promises';
import type { Signer } from '../../ports/signer/signer.ts';
import type { SignerBootstrap } from '../../ports/signer/protocol.ts';
import { signerCalls } from './signer-calls.ts';
import { startSignerProcess, type SignerProcess, type SignerProcessOptions } from './process.ts';

export interface Supervision {
  /** Reads the wallets again; null if that needs a secret that this process no longer has. */
  readonly walletsAgain: (() => SignerBootstrap['wallets']) | null;
  /** It ended and cannot be restarted here. */
  readonly onGone: (reason: string) => void;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;

/**
 * A signer process that is restarted when it ends, if its keys are in files. Rejects like `startSignerProcess` when the
 * first start fails.
 */
export async function superviseSigner(
  given: Omit<SignerProcessOptions, 'onLost'>,
  { walletsAgain, onGone }: Supervision,
): Promise<Signer & { readonly pid: number }> {
  // The secrets must not live as long as the signer.
  const { wallets, ...options } = given;
  const { log } = options;
  const closing = new AbortController();
  const { signal } = closing;
  let restarting: Promise<void> = Promise.resolve();
  let current: SignerProcess;
  const start = (from: SignerBootstrap['wallets']): Promise<SignerProcess> =>
    startSignerProcess({ ...options, wallets: from, onLost: lost });
  const restart = async (read: NonNullable<Supervision['walletsAgain']>): Promise<void> => {
    for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      await sleep(pauseMs, undefined, { ref: false, signal }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        current = await start(read());
        log.warn({}, 'the signer was started again');
        return;
      } catch (error) {
        log.error({ err: error }, 'the signer could not be started again; retrying');
      }
    }
  };
  function lost(reason: string): void {
    if (walletsAgain === null) onGone(reason);
    else restarting = restart(walletsAgain);
  }
  current = await start(wallets);
  return {
    get pid() {
      return current.pid;
    },
    ...signerCalls({ call: (method, params) => current.call(method, params) }),
    close: async () => {
      closing.abort();
      await restarting;
      await current.close();
    },
  };
}
