import { expect, it } from 'vitest';
import { addressFamilyOf } from '../../../src/domain/networks/networks.ts';
import { parseMerchantId } from '../../../src/domain/values/ids.ts';
import type { ApprovalAct, ApprovalTerms } from '../../../src/ports/signer/approvals.ts';
import type { OutgoingTransaction } from '../../../src/ports/outgoing/transaction.ts';
import type { Signature } from '../../../src/ports/outgoing/signer.ts';
import { signedBy } from '../../support/approvers.ts';
import { MODEL_WALLET, type ModelChain } from '../../support/model-chains/model-chain.ts';
import { outgoing } from '../../support/outgoing.ts';
import { MODELS, onModel, SearchedSigner } from '../../support/signer-search.ts';

/* The payer of both deposits is the merchant herself. What is left of her account is 20. */

const LIMITS = { perTransaction: '100', perHour: '200', perDay: '200', approvalFrom: '30' };

function refundOf({ network, paid }: ModelChain, id: string, amount: string): OutgoingTransaction {
  const [deposit] = paid;
  return outgoing({
    ...{ kind: 'refund', id, network, coin: 'USDT', amount, toAddress: deposit!.payer },
    fromAddress: MODEL_WALLET.treasury[addressFamilyOf(network)],
    deposits: [{ ...deposit!.proof, amount }],
  });
}

it.each(MODELS)(
  'a merchant on %s who was settled gets nothing back beyond her account without two people',
  (_, model) =>
    onModel(model, async (chain, journalDirectory) => {
      const rules = { journalDirectory, limits: { USDT: LIMITS }, payoutsPerHour: 10 };
      const signer = new SearchedSigner(chain, rules, '20');
      const ask = async (order: OutgoingTransaction, sequence = 0): Promise<Signature | null> => {
        await signer.book(order);
        const draft = chain.draft(BigInt(Number(order.amount) * 1e6), 0, sequence);
        const answer = await signer.ask<Signature>('sign', {
          order,
          attempt: 1,
          draft,
          logPlace: signer.placeOf(false),
        });
        if (answer?.ok) signer.advance(answer);
        return answer;
      };
      const approve = async (order: OutgoingTransaction): Promise<string[]> => {
        const act: ApprovalAct = { kind: 'transaction', order, proposedBy: 'merchant' };
        const texts: string[] = [];
        for (const name of ['ada', 'ben']) {
          const terms = await signer.ask<ApprovalTerms>('approvalTerms', { act });
          if (!terms?.ok || terms.done) throw new Error('there is nothing to approve');
          texts.push(terms.text);
          expect(await signer.ask('approve', { act, approval: signedBy(name, terms) })).toMatchObject({ ok: true });
        }
        return texts;
      };

      const large = refundOf(chain, 're_1-1', '35');
      // Approved as a large refund while nothing was booked, so while the account was not known to lack anything.
      expect((await approve(large)).join('\n')).not.toContain('account:');
      expect(await ask(large)).toMatchObject({ ok: false, kind: 'later', code: 'exceeds_account' });

      const small = refundOf(chain, 're_2-1', '20');
      expect(await ask(small)).toMatchObject({ ok: true });
      const next = refundOf(chain, 're_3-1', '0.01');
      expect(await ask(next, 1)).toMatchObject({ ok: false, code: 'exceeds_account' });

      expect((await approve(large))[0]).toContain('account: not covered by what the books hold for it');
      expect(await ask(large, 1)).toMatchObject({ ok: true });
      expect(await ask(next, 2)).toMatchObject({ ok: false, code: 'exceeds_account' });
    }),
);

it.each(MODELS)('what was settled on %s is returned as an unmatched transfer to nobody', (_, model) =>
  onModel(model, async (chain, journalDirectory) => {
    const rules = { journalDirectory, limits: { USDT: LIMITS }, payoutsPerHour: 10 };
    const signer = new SearchedSigner(chain, rules, '0');
    await signer.book(refundOf(chain, 're_1-1', '1'));
    const { refund: _refund, ...same } = refundOf(chain, 'rtn_1', '20');
    for (const merchantId of [null, parseMerchantId('mer_bbbbbbbbbbbbbbbbbbbb')]) {
      const order = { ...same, kind: 'return', refund: null, merchantId } as const;
      const draft = chain.draft(20_000_000n, 0, 0);
      const answer = await signer.ask<Signature>('sign', { order, attempt: 1, draft, logPlace: null });
      expect(answer).toMatchObject({ ok: false, code: 'exceeds_account' });
    }
  }),
);
