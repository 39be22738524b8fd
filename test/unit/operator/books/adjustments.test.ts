import { beforeEach, describe, expect, it } from 'vitest';
import { nodeRandom } from '../../../../src/adapters/node/random.ts';
import { createAdjustmentsHandler } from '../../../../src/features/shared/handlers/adjustments-handler.ts';
import { adjustmentCommands } from '../../../../src/operator/books/adjustments.ts';
import type { AdminCommands } from '../../../../src/operator/server/commands.ts';
import type { ApprovalAct, ApprovalSigner } from '../../../../src/ports/signer/approvals.ts';
import { systemClock } from '../../../../src/ports/clock.ts';
import { LINE_OF_TERMS } from '../../../../src/domain/line-of-terms.ts';
import { handlerDeps } from '../../../support/handler-deps.ts';
import { MemoryEventStore } from '../../../support/memory-event-store.ts';

const ENTRY = { mode: 'test', network: 'bsc', coin: 'USDT', debit: 'expenses:other=1', credit: 'income:other=1' };
const PROPOSED = { ...ENTRY, operator: 'Fin' };

let commands: AdminCommands;
let asked: ApprovalAct[];
beforeEach(() => {
  const store = new MemoryEventStore();
  asked = [];
  /** Takes what the signer's own schema takes. */
  const signer: ApprovalSigner = {
    approvalTerms: async (act) => {
      asked.push(act);
      if (act.kind !== 'adjustment' || !LINE_OF_TERMS.test(act.adjustment.reason))
        throw new Error('invalid parameters');
      return { ok: true, done: false, text: 'the terms', number: 'n-1', validUntilMs: 1 };
    },
    approve: () => Promise.reject(new Error('nobody signs here')),
    reportOutflows: async () => ({ ok: true }),
  };
  commands = adjustmentCommands({
    adjustmentsHandler: createAdjustmentsHandler(handlerDeps(store)),
    ...{ store, signer, modeOfMerchant: () => null, clock: systemClock, random: nodeRandom },
  });
});

const proposed = async (args: object): Promise<string> =>
  ((await commands['ledger.adjust']!({ ...PROPOSED, ...args })) as { id: string }).id;

describe('the reason of an entry by hand', () => {
  it.each([
    ['a no-break space', 'bank\u00a0fees of May', 'bank fees of May'],
    ['a line break', 'bank fees\r\nof May', 'bank fees of May'],
    ['a tab at the end', 'bank fees of May\t', 'bank fees of May'],
    ['a joined emoji', 'bank fees \u{1f469}\u200d\u{1f4bb}', 'bank fees \u{1f469} \u{1f4bb}'],
    ['blanks that would look like another line', `bank fees${' '.repeat(200)}credit: 0`, 'bank fees credit: 0'],
  ])('with %s can be approved, and is one line of the terms', async (_, reason, line) => {
    const id = await proposed({ reason });
    expect(await commands['ledger.approve-adjustment']!({ id })).toMatchObject({ to_sign: [{ number: 'n-1' }] });
    expect(asked).toMatchObject([{ adjustment: { reason: line } }]);
  });

  it.each([
    ['begins with a mark for another letter', '\u0301bank fees'],
    ['shows nothing', '\u200b\u2060'],
  ])('that %s is refused before anybody is asked to approve it', async (_, reason) => {
    await expect(proposed({ reason })).rejects.toMatchObject({ name: 'CommandRefused', message: /^reason must/ });
  });
});

it('who proposes it is named in a form that the terms can show', async () => {
  for (const operator of ['', 'Fin\u202enoziF', 'Fin\nproposed by: Ada'])
    await expect(proposed({ reason: 'bank fees', operator }), operator).rejects.toMatchObject({
      name: 'CommandRefused',
      message: /^operator /,
    });
});
