import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TransactionDraft } from '../../../src/domain/events/transaction-draft.ts';
import type { Mode } from '../../../src/domain/values/ids.ts';
import { addressFamilyOf } from '../../../src/domain/networks/networks.ts';
import type { OutgoingTransaction } from '../../../src/ports/outgoing/transaction.ts';
import type { PayoutRules } from '../../../src/ports/signer/protocol.ts';
import { Outgoing } from '../../../src/signer/outgoing.ts';
import { Wallet } from '../../../src/signer/keys/wallet.ts';
import { bookedIn } from '../../support/booked-refunds.ts';
import { MODEL_WALLET as wallet, type ModelChain } from '../../support/model-chains/model-chain.ts';
import { outgoing } from '../../support/outgoing.ts';
import { MODELS } from '../../support/signer-search.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/* Our own transfers are no deposits: the signer knows them by its journals and keys, whoever names them. */

const liveWallet = new Wallet('legal winner thank year wave sausage worth useful legal winner thank yellow');
const limits = { perTransaction: '1000', perHour: '1000', perDay: '1000', approvalFrom: '1000' };

describe.each(MODELS)('on %s', (network, model) => {
  const family = addressFamilyOf(network);
  let chain: ModelChain;
  let directory: string;
  beforeEach(async () => {
    chain = await model();
    directory = temporaryFolder('own-money');
  });
  afterEach(() => chain.close());

  function signer(modes: readonly (readonly [Mode, Wallet])[] = [['test', wallet]]): Outgoing {
    const { chainId, urls, token: address } = chain;
    const tokens = [{ coin: 'USDT', address, decimals: 6 }] as const;
    const rules: PayoutRules = {
      journalDirectory: mkdtempSync(join(directory, 'journal-')),
      networks: [{ mode: 'test', network, chainId, tokens, urls }],
      ...{ limits: { USDT: limits }, payoutsPerHour: 100, approvers: [] },
    };
    return bookedIn(new Outgoing(rules, new Map(modes), () => 1_800_000_000_000));
  }
  const refund = (of: number, toAddress: string): OutgoingTransaction =>
    outgoing({
      ...{ kind: 'refund', id: `re_${of}`, network, coin: 'USDT', amount: '10' },
      ...{ fromAddress: wallet.treasury[family], toAddress, deposits: [{ ...chain.paid[of]!.proof, amount: '10' }] },
    });
  const sweep = (): OutgoingTransaction =>
    outgoing({
      ...{ kind: 'sweep', id: 'swp_1', network, coin: 'USDT', amount: '10', derivationIndex: 3 },
      ...{ fromAddress: wallet.collectionAddress(family, 3), toAddress: wallet.treasury[family] },
    });

  /** A transfer from an address, in the place of the first deposit. */
  const paidBy = (payer: string, txHash = chain.paid[0]!.proof.txHash): void =>
    chain.show({ ...chain.paid[0]!, payer, proof: { ...chain.paid[0]!.proof, txHash } });

  it.each([
    ['the treasury', () => wallet.treasury[family]],
    ['the address that was paid', () => chain.paid[0]!.proof.toAddress],
  ])('nothing is paid back to %s', async (_, ours) => {
    paidBy(ours());
    expect(await signer().check(refund(0, ours()))).toMatchObject({ ok: false, code: 'own_address' });
  });

  it('nothing is paid back to the treasury of another mode', async () => {
    const live = liveWallet.treasury[family];
    paidBy(live);
    const payouts = signer([
      ['test', wallet],
      ['live', liveWallet],
    ]);
    expect(await payouts.check(refund(0, live))).toMatchObject({ ok: false, code: 'own_address' });
    expect(await signer().check(refund(0, live))).toEqual({ ok: true });
  });

  it('a transaction of the journal is no deposit, whoever it seems to come from', async () => {
    const payouts = signer();
    const { payer } = chain.paid[0]!;
    expect(await payouts.check(refund(0, payer))).toEqual({ ok: true });
    const draft: TransactionDraft = chain.draft(10_000_000n, 0, 0);
    const signed = await payouts.sign({ order: sweep(), attempt: 1, draft, logPlace: null });
    if (!signed.ok) throw new Error(signed.message);
    paidBy(payer, signed.txHash);
    const [named] = refund(0, payer).deposits;
    const ofOurs = { ...refund(0, payer), deposits: [{ ...named!, txHash: signed.txHash }] };
    expect(await payouts.check(ofOurs)).toMatchObject({ ok: false, code: 'own_transfer' });
    expect(await signer().check(ofOurs)).toEqual({ ok: true });
  });

  it('nothing is withdrawn to an address that was swept', async () => {
    const payouts = signer();
    const draft: TransactionDraft = chain.draft(10_000_000n, 0, 0);
    const signed = await payouts.sign({
      order: { ...sweep(), derivationIndex: 70, fromAddress: wallet.collectionAddress(family, 70) },
      attempt: 1,
      draft,
      logPlace: null,
    });
    expect(signed).toMatchObject({ ok: true });
    const out = outgoing({
      ...{ kind: 'withdrawal', id: 'wdr_1', network, coin: 'USDT', amount: '10' },
      ...{ fromAddress: wallet.treasury[family], toAddress: wallet.collectionAddress(family, 70) },
    });
    expect(await payouts.check(out)).toMatchObject({ ok: false, code: 'own_address' });
  });
});
