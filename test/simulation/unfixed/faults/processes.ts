import { unfixed, type Unfixed } from '../unfixed-fault.ts';

const HANDLER = 'src/runtime/commands/handler.ts';

/** Several processes on shared servers. */
export const PROCESSES_FAULTS: readonly Unfixed[] = [
  unfixed(
    'what was decided on an old state is answered as done',
    '--profile shared --network bsc --focus sweep',
    HANDLER,
    'if (!result.ok) continue;',
    'if (!result.ok) return { ok: true, state: next, events: decision.events };',
  ),
  unfixed(
    'the state before an append of unknown outcome is kept',
    '--profile shared --network bsc --focus store',
    HANDLER,
    'box.value = null;\n      const result',
    'const result',
  ),
  unfixed(
    'an old state says that there is nothing to do',
    '--profile shared --network bsc --focus leases',
    HANDLER,
    'if (this.#soleWriter || cached === null ||',
    'if (this.#soleWriter || cached !== null ||',
  ),
  unfixed(
    'the holder of a lease goes on when its time is over',
    '--profile shared --network bsc --focus leases',
    'src/runtime/leases/with-lease.ts',
    'return !this.#ending.signal.aborted && performance.now() < this.#heldUntilMs;',
    'return this.#heldUntilMs > 0;',
    'every write of leased work expects a revision, so a second holder changes nothing that can be seen from outside',
  ),
];
