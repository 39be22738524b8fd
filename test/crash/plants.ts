import { join } from 'node:path';
import type { PlantedChange } from '../support/planted-change.ts';

/* Known bugs, planted by `plant.mjs`. */

/** The signer is to carry the bug too. */
const IN_SIGNER = {
  file: 'src/adapters/signer/process.ts',
  from: "'TMPDIR'",
  to: "'TMPDIR', 'NODE_OPTIONS', 'PLANT'",
};
const NO_JOURNAL = [
  {
    file: 'src/signer/journal/journal.ts',
    from: 'for (let written = 0; written < line.length;) written += writeSync(this.#file, line, written);',
    to: '',
  },
  { file: 'src/signer/journal/journal.ts', from: 'this.#bytes += line.length;', to: '' },
  { file: 'src/signer/journal/journal.ts', from: 'this.#keepHead(entry);', to: '' },
];

export const PLANTS: Readonly<Record<string, readonly PlantedChange[]>> = {
  /** A payout that is not seen at once is signed anew, although the first transaction may still land. */
  'new-transaction-on-retry': [
    IN_SIGNER,
    {
      file: 'src/features/payouts/sent.ts',
      from: "case 'absent':",
      to: "case 'absent': await chain.broadcast(newest(item)); return replace(item, await chain.draft(item.order, null, {}), 'can_never_land');\n      case 'absent' as never:",
    },
    {
      file: 'src/signer/chains/tron-view.ts',
      from: "return 'expirationMs' in next && this.#areDead(earlier, false);",
      to: 'return true;',
    },
  ],
  /** The same bug, but the signer is sound. */
  'new-transaction-on-retry-in-the-process-only': [
    {
      file: 'src/features/payouts/sent.ts',
      from: "case 'absent':",
      to: "case 'absent': await chain.broadcast(newest(item)); return replace(item, await chain.draft(item.order, null, {}), 'can_never_land');\n      case 'absent' as never:",
    },
  ],
  /** Nothing is written down before the money is on its way. */
  'record-after-send': [
    IN_SIGNER,
    ...NO_JOURNAL,
    {
      file: 'src/features/payouts/refunds/records.ts',
      from: "crashPoint('after-sign');",
      to: 'await this.#account.chain.broadcast(signed);',
    },
    {
      file: 'src/features/payouts/executor.ts',
      from: 'if (await this.#finishReserved()) items = await this.#read();',
      to: "const planted = this.#records.reservation(await this.context());\n    if (planted) await this.#records.release(planted.ref, { attempt: planted.sequence.attempt, reason: 'planted', releasedAtSec: 0 });",
    },
  ],
  'no-journal': NO_JOURNAL,
  'cap-by-wall-clock': [
    { file: 'src/signer/outgoing.ts', from: 'journal.timeMs(this.#nowMs())', to: 'this.#nowMs()' },
    { file: 'src/signer/journal/journal.ts', from: 'atMs: this.timeMs(nowMs)', to: 'atMs: nowMs' },
    {
      file: 'src/signer/policies/limits.ts',
      from: 'paidSince(entries, nowMs - ms);',
      to: 'paidSince(entries, nowMs - ms).filter((entry) => entry.atMs <= nowMs);',
    },
  ],
};

/** The environment of a service that carries the bug. */
export const planted = (bug: string): Record<string, string> => ({
  PLANT: bug,
  NODE_OPTIONS: `--import ${join(import.meta.dirname, 'plant.mjs')}`,
});

/** Bugs that a kill at the point turns into this many transfers of one refund, on TRON. */
export const PLANTED_KILLS = [
  { bug: 'record-after-send', point: 'after-broadcast', transfers: 2 },
  { bug: 'new-transaction-on-retry', point: 'before-broadcast', transfers: 2 },
  { bug: 'new-transaction-on-retry-in-the-process-only', point: 'before-broadcast', transfers: 1 },
] as const;
