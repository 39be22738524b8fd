import { expect, it } from 'vitest';
import type { TransactionDraft } from '../../../src/domain/events/transaction-draft.ts';
import { addressFamilyOf } from '../../../src/domain/networks/networks.ts';
import type { Signature } from '../../../src/ports/outgoing/signer.ts';
import { modelEvm } from '../../support/model-chains/evm-model.ts';
import { MODEL_WALLET } from '../../support/model-chains/model-chain.ts';
import { outgoing } from '../../support/outgoing.ts';
import { MODELS, onModel, repriced, SearchedSigner } from '../../support/signer-search.ts';

/* The signer looks for the deposit of a refund in the chain before each of its transactions. */

const LIMITS = { perTransaction: '100', perHour: '100', perDay: '100', approvalFrom: '100' };

it.each(MODELS)(
  'on %s a refund whose deposit left the chain is neither signed nor raised in fee, until it is back',
  (_, model) =>
    onModel(model, async (chain, journalDirectory) => {
      const rules = { journalDirectory, limits: { USDT: LIMITS }, payoutsPerHour: 10 };
      const signer = new SearchedSigner(chain, rules);
      const [deposit] = chain.paid;
      const order = outgoing({
        ...{ kind: 'refund', id: 're_1-1', network: chain.network, coin: 'USDT', amount: '20' },
        fromAddress: MODEL_WALLET.treasury[addressFamilyOf(chain.network)],
        ...{ toAddress: deposit!.payer, deposits: [{ ...deposit!.proof, amount: '20' }] },
      });
      await signer.book(order);
      const first = chain.draft(20_000_000n, 0, 0);
      const sign = async (attempt: number, draft: TransactionDraft = first): Promise<Signature | null> => {
        const logPlace = signer.placeOf(false);
        const answer = await signer.ask<Signature>('sign', { order, attempt, draft, logPlace });
        if (answer?.ok) signer.advance(answer);
        return answer;
      };
      const gone = { ok: false, kind: 'later', code: 'deposit_not_found' };

      chain.hide(deposit!);
      expect(await sign(1)).toMatchObject(gone);
      chain.show(deposit!);
      expect(await sign(1)).toMatchObject({ ok: true });

      // TRON signs again once the first one has expired, the others at another price.
      for (let day = 0; day < 2; day += 1) chain.advance(3);
      const next = repriced(first, 7) ?? chain.draft(20_000_000n, 7, 1);
      chain.hide(deposit!);
      expect(await sign(2, next)).toMatchObject(gone);
      chain.show(deposit!);
      expect(await sign(2, next)).toMatchObject({ ok: true });
    }),
);

it('a deposit that a reorganisation put behind the logs of others is refunded no further than it holds', () =>
  onModel(modelEvm, async (chain, journalDirectory) => {
    const signer = new SearchedSigner(chain, { journalDirectory, limits: { USDT: LIMITS }, payoutsPerHour: 10 });
    const [deposit] = chain.paid;
    const refund = async (id: string, logIndex: number, amount: string): Promise<Signature | null> => {
      const { txHash } = deposit!.proof;
      const proof = { ...deposit!.proof, logIndex, depositKey: `${chain.network}:${txHash}:${logIndex}` };
      chain.show({ ...deposit!, proof });
      const order = outgoing({
        ...{ kind: 'refund', id, network: chain.network, coin: 'USDT', amount },
        ...{ fromAddress: MODEL_WALLET.treasury.evm, toAddress: deposit!.payer },
        deposits: [{ ...proof, amount: '60' }],
      });
      await signer.book(order);
      const draft = chain.draft(BigInt(amount) * 1_000_000n, 0, logIndex);
      const answer = await signer.ask<Signature>('sign', { order, attempt: 1, draft, logPlace: signer.placeOf(false) });
      if (answer?.ok) signer.advance(answer);
      return answer;
    };
    expect(await refund('re_1-1', 0, '50')).toMatchObject({ ok: true });
    expect(await refund('re_2-1', 3, '50')).toMatchObject({ ok: false, kind: 'denied', code: 'exceeds_deposit' });
    expect(await refund('re_3-1', 3, '10')).toMatchObject({ ok: true });
  }));
