import { appendFileSync, mkdtempSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, afterAll, describe, expect, it } from 'vitest';
import { startSignerProcess, type SignerProcess } from '../../src/adapters/signer/process.ts';
import type { JournalPlace, TransactionDraft } from '../../src/domain/events/transaction-draft.ts';
import { formatAmount } from '../../src/domain/money/money.ts';
import { type OutgoingTransaction, validityOf } from '../../src/ports/outgoing/transaction.ts';
import type { OutgoingChain } from '../../src/ports/outgoing/chain.ts';
import type { SigningRequest, TreasuryAddresses } from '../../src/ports/outgoing/signer.ts';
import { associatedTokenAccount } from '../../src/chain-formats/spl-token.ts';
import { payoutChain } from '../../src/composition/money/payouts.ts';
import { contractCheck } from '../../src/composition/networks/contract-check.ts';
import { type Network, addressFamilyOf } from '../../src/domain/networks/networks.ts';
import { silentLog } from '../../src/ports/log.ts';
import type { PayoutLimits, PayoutRules } from '../../src/ports/signer/protocol.ts';
import { startEvmSandboxChain } from '../../src/sandbox/evm-sandbox-chain.ts';
import { loadPayerKeys } from '../../src/sandbox/payer-keys.ts';
import type { SandboxChain } from '../../src/sandbox/chain.ts';
import { startSurfpool } from '../../src/sandbox/surfpool/start-surfpool.ts';
import { startTronFacade } from '../../src/sandbox/tron-facade/start-tron-facade.ts';
import { Wallet } from '../../src/signer/keys/wallet.ts';
import { withBookedRefunds } from '../support/booked-refunds.ts';
import { outgoing } from '../support/outgoing.ts';
import { approveAt, approverKey } from '../support/approvers.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* A real signer process and real chains: what it signs reaches the payer, and whatever it is told, nobody else. */

const MNEMONIC = 'test test test test test test test test test test test junk';
const wallet = new Wallet(MNEMONIC);
const WIDE: PayoutLimits = { perTransaction: '1000', perHour: '2000', perDay: '3000', approvalFrom: '900' };

let directory: string;
beforeAll(() => {
  directory = temporaryFolder('refund-signer');
});

const starters: Readonly<Record<Network, () => Promise<SandboxChain | { reason: string }>>> = {
  ethereum: () =>
    startEvmSandboxChain('ethereum', {
      directory: join(directory, 'ethereum'),
      payerKeys: loadPayerKeys(join(directory, 'payers')),
      log: silentLog,
    }),
  bsc: () =>
    startEvmSandboxChain('bsc', {
      directory: join(directory, 'bsc'),
      payerKeys: loadPayerKeys(join(directory, 'payers')),
      log: silentLog,
    }),
  tron: () => startTronFacade({ directory: join(directory, 'tron') }),
  solana: () => startSurfpool({ directory: join(directory, 'solana') }),
};

class Desk {
  readonly chain: SandboxChain;
  readonly payouts: OutgoingChain;
  readonly treasuries: TreasuryAddresses = wallet.treasury;
  #legs = 0;

  constructor(chain: SandboxChain) {
    this.chain = chain;
    this.payouts = payoutChain(
      { settings: chain.settings, urls: [chain.rpcUrl] },
      { sandbox: true, maxGasGwei: 2_000 },
    );
  }

  get network(): Network {
    return this.chain.settings.network;
  }

  get treasury(): string {
    return this.treasuries[addressFamilyOf(this.network)];
  }

  /** Pays one of our addresses and waits until that is final; answers the order that gives `amount` of it back. */
  async deposit(paid: string, amount: string): Promise<OutgoingTransaction> {
    const index = this.#legs;
    this.#legs += 1;
    const toAddress = wallet.collectionAddress(addressFamilyOf(this.network), index);
    const { txHash, fromAddress } = await this.chain.pay({ coin: 'USDT', to: toAddress, amount: paid });
    const logIndex = this.network === 'solana' ? await this.#solanaPlace(txHash, toAddress) : 0;
    const proof = {
      depositKey: `${this.network}:${txHash}:${logIndex}`,
      txHash,
      logIndex,
      toAddress,
      derivationIndex: index,
    };
    return outgoing({
      ...{ kind: 'refund', id: `re_${index}-1`, network: this.network, coin: 'USDT', amount },
      ...{ fromAddress: this.treasury, toAddress: fromAddress, deposits: [{ ...proof, amount }] },
    });
  }

  async request(
    order: OutgoingTransaction,
    logPlace: SigningRequest['logPlace'] = null,
    nonce = 0,
  ): Promise<SigningRequest> {
    const draft = await this.payouts.draft(order, nonce, {});
    return { order, attempt: 1, draft: draft!, logPlace };
  }

  /**
   * The place in the journal after everything that payouts of the network need is made; null where they need nothing.
   */
  async prepare(signer: SignerProcess): Promise<JournalPlace | null> {
    const { payouts } = this;
    if (!payouts.missingAccount) return null;
    const { index, address, rent } = (await payouts.missingAccount(this.treasury, {}))!;
    const order = outgoing({
      ...{ kind: 'nonce_account', id: 'nac_1', network: 'solana', coin: 'SOL', amount: formatAmount(rent) },
      ...{ fromAddress: this.treasury, toAddress: address, derivationIndex: index },
    });
    const draft = (await payouts.draft(order, null, {}))!;
    const signed = await signer.sign({ order, attempt: 1, draft, logPlace: null });
    if (!signed.ok) throw new Error(signed.message);
    const sent = { ...signed, validity: validityOf(draft) };
    expect((await payouts.fate(order, [sent])).kind).toBe('absent');
    await payouts.broadcast(sent);
    await expect.poll(async () => (await payouts.fate(order, [sent])).kind, { timeout: 60_000 }).toBe('landed');
    // The base fee, and 80,000 compute units at the least price.
    expect(await payouts.fate(order, [sent])).toMatchObject({ landed: { networkFee: '0.00000508' } });
    await expect.poll(() => payouts.missingAccount!(this.treasury, {}), { timeout: 60_000 }).toBeNull();
    return signed.journal;
  }

  async #solanaPlace(txHash: string, owner: string): Promise<number> {
    const body = {
      jsonrpc: '2.0',
      id: 1,
      method: 'getTransaction',
      params: [txHash, { encoding: 'json', maxSupportedTransactionVersion: 0, commitment: 'confirmed' }],
    };
    const answer = await fetch(this.chain.rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const { result } = (await answer.json()) as {
      result: { meta: { postTokenBalances: { owner: string; accountIndex: number }[] } };
    };
    return result.meta.postTokenBalances.find((balance) => balance.owner === owner)!.accountIndex;
  }
}

const running: SignerProcess[] = [];
afterEach(() => Promise.all(running.splice(0).map((signer) => signer.close())));

async function startSigner(chains: readonly SandboxChain[], change: Partial<PayoutRules> = {}): Promise<SignerProcess> {
  const networks = chains.map(({ settings: { mode, network, chainId, tokens }, rpcUrl }) => ({
    mode,
    network,
    chainId,
    tokens,
    urls: [rpcUrl],
  }));
  const journalDirectory = change.journalDirectory ?? mkdtempSync(join(directory, 'journal-'));
  const payouts: PayoutRules = {
    networks,
    limits: { USDT: WIDE },
    payoutsPerHour: 100,
    approvers: [],
    ...change,
    journalDirectory,
  };
  const signer = await startSignerProcess({
    directory: journalDirectory,
    wallets: { test: { kind: 'mnemonic', mnemonic: MNEMONIC } },
    payouts,
    log: silentLog,
  });
  running.push(signer);
  return withBookedRefunds(signer, signer.takeEvents);
}

async function whenFinal(signer: SignerProcess, order: OutgoingTransaction) {
  for (let tries = 0; tries < 300; tries += 1) {
    const verdict = await signer.check(order);
    if (verdict.ok || (verdict.code !== 'deposit_not_final' && verdict.code !== 'deposit_not_found')) return verdict;
    await sleep(100);
  }
  throw new Error('the deposit does not become final');
}

describe.each(['ethereum', 'bsc', 'tron', 'solana'] as const)('a payout on %s', (network) => {
  it('reaches the payer once, with the signed bytes', async () => {
    const chain = await starters[network]();
    if ('reason' in chain) throw new Error(chain.reason);
    try {
      const executor = new Desk(chain);
      await chain.fundTreasury!(executor.treasury);
      const signer = await startSigner([chain]);
      const order = await executor.deposit('10.00', '4.25');
      expect(await whenFinal(signer, order)).toEqual({ ok: true });
      await expect
        .poll(() => executor.payouts.check(order, { coins: {}, payouts: 0 }), { timeout: 20_000 })
        .toEqual({ kind: 'ready' });
      const request = await executor.request(order, await executor.prepare(signer));
      const signed = await signer.sign(request);
      if (!signed.ok) throw new Error(signed.message);
      expect(await signer.sign(request)).toEqual(signed);
      const payout = { txHash: signed.txHash, signedBytes: signed.signedBytes, validity: validityOf(request.draft) };
      expect((await executor.payouts.fate(order, [payout])).kind).toBe('absent');
      await executor.payouts.broadcast(payout);
      await executor.payouts.broadcast(payout);
      await expect
        .poll(async () => (await executor.payouts.fate(order, [payout])).kind, { timeout: 60_000 })
        .toBe('landed');
      const fate = await executor.payouts.fate(order, [payout]);
      expect(fate).toMatchObject({ kind: 'landed', landed: { txHash: signed.txHash } });
      expect(fate.kind === 'landed' && Number(fate.landed.networkFee)).toBeGreaterThan(0);
      const stranger = await signer.check({
        ...order,
        id: 're_s-1',
        toAddress:
          executor.treasury === order.toAddress
            ? order.toAddress
            : wallet.collectionAddress(addressFamilyOf(network), 77),
      });
      expect(stranger).toMatchObject({ ok: false, kind: 'denied', code: 'not_the_payer' });
      const check = contractCheck({ settings: chain.settings, urls: [chain.rpcUrl] });
      const code =
        network === 'solana'
          ? associatedTokenAccount(executor.treasury, chain.settings.tokens[0]!.address)
          : chain.settings.tokens[0]!.address;
      expect([await check.isContract(code), await check.isContract(order.toAddress)]).toEqual([true, false]);
      await check.close();
      await executor.payouts.close();
    } finally {
      await chain.close();
    }
  });
});

describe('the signer, whatever it is asked', () => {
  let executor: Desk;
  beforeAll(async () => {
    const chain = await starters.ethereum();
    if ('reason' in chain) throw new Error(chain.reason);
    executor = new Desk(chain);
    await chain.fundTreasury!(executor.treasury);
  });
  afterAll(async () => {
    await executor.payouts.close();
    await executor.chain.close();
  });

  async function paidOrder(signer: SignerProcess, paid = '10.00', amount = '10.00'): Promise<OutgoingTransaction> {
    const order = await executor.deposit(paid, amount);
    const verdict = await whenFinal(signer, order);
    if (!verdict.ok && verdict.kind === 'denied') throw new Error(verdict.message);
    return order;
  }

  it('pays no stranger, no other coin, no other address, and no more than was paid', async () => {
    const signer = await startSigner([executor.chain]);
    const order = await paidOrder(signer);
    const [proof] = order.deposits;
    const cases: [Partial<OutgoingTransaction>, string][] = [
      [{ toAddress: '0x000000000000000000000000000000000000dEaD' }, 'not_the_payer'],
      [{ toAddress: executor.treasury }, 'own_address'],
      [{ amount: '10.01', deposits: [{ ...proof!, amount: '10.01' }] }, 'exceeds_deposit'],
      [{ amount: '10.00', deposits: [{ ...proof!, amount: '9.99' }] }, 'exceeds_deposit'],
      [{ deposits: [proof!, proof!], amount: '20.00' }, 'named_twice'],
      [{ deposits: [{ ...proof!, derivationIndex: proof!.derivationIndex! + 1 }] }, 'not_our_address'],
      [{ deposits: [] }, 'exceeds_deposit'],
    ];
    for (const [change, code] of cases) {
      const request = { ...(await executor.request(order)), order: { ...order, ...change } };
      const matching =
        change.amount === undefined
          ? request
          : {
              ...request,
              draft: { ...request.draft, tokenUnits: String(Number(change.amount) * 1e6) } as TransactionDraft,
            };
      expect(await signer.sign(matching), JSON.stringify(change)).toMatchObject({ ok: false, kind: 'denied', code });
    }
    const honest = await executor.request(order);
    expect(
      await signer.sign({ ...honest, draft: { ...honest.draft, tokenUnits: '1' } as TransactionDraft }),
    ).toMatchObject({
      ok: false,
      code: 'wrong_draft',
    });
    expect(
      await signer.sign({ ...honest, draft: { ...honest.draft, tokenAddress: proof!.toAddress } as TransactionDraft }),
    ).toMatchObject({
      ok: false,
      code: 'wrong_draft',
    });
    expect((await signer.status('test')).entries).toBe(0);
  });

  it('gives a hundred identical requests one and the same payload', async () => {
    const signer = await startSigner([executor.chain]);
    const request = await executor.request(await paidOrder(signer));
    const answers = await Promise.all(Array.from({ length: 100 }, () => signer.sign(request)));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]!.ok).toBe(true);
    expect((await signer.status('test')).entries).toBe(1);
  });

  it('signs no second payload for a leg, except at the same nonce for a higher fee', async () => {
    const signer = await startSigner([executor.chain]);
    const request = await executor.request(await paidOrder(signer), null, 5);
    const first = await signer.sign(request);
    if (!first.ok) throw new Error(first.message);
    const draft = { ...request.draft, maxFeePerGas: '99000000000' } as SigningRequest['draft'];
    const other = { ...draft, nonce: 6 } as SigningRequest['draft'];
    expect(await signer.sign({ ...request, draft })).toMatchObject({
      ok: false,
      kind: 'stopped',
      code: 'second_payload',
    });
    expect(await signer.sign({ ...request, attempt: 2, draft: other, logPlace: first.journal })).toMatchObject({
      ok: false,
      code: 'may_still_land',
    });
    expect(await signer.sign({ ...request, attempt: 2, draft, logPlace: first.journal })).toMatchObject({ ok: true });
  });

  it('refuses everything when event log and journal disagree', async () => {
    const journalDirectory = mkdtempSync(join(directory, 'journal-'));
    const signer = await startSigner([executor.chain], { journalDirectory });
    const first = await signer.sign(await executor.request(await paidOrder(signer)));
    if (!first.ok) throw new Error(first.message);
    const order = await paidOrder(signer);
    const behind = await executor.request(order, null, 1);
    expect(await signer.sign(behind)).toMatchObject({ ok: false, kind: 'stopped', code: 'journal_disagrees' });
    expect(await signer.sign({ ...behind, logPlace: first.journal })).toMatchObject({ ok: true });
    expect(await signer.sign({ ...behind, logPlace: { seq: 1, hash: 'a'.repeat(64) } })).toMatchObject({
      ok: false,
      code: 'journal_disagrees',
    });
    const second = await startSigner([executor.chain]);
    expect(
      await second.sign({ ...behind, logPlace: first.journal }),
      'a second signer with a journal of its own',
    ).toMatchObject({
      ok: false,
      code: 'journal_disagrees',
    });
  });

  it('never pays one deposit twice, over legs and restarts', async () => {
    const journalDirectory = mkdtempSync(join(directory, 'journal-'));
    const signer = await startSigner([executor.chain], { journalDirectory });
    const order = await paidOrder(signer, '10.00', '6.00');
    const first = await signer.sign(await executor.request(order));
    if (!first.ok) throw new Error(first.message);
    await signer.close();
    const again = await startSigner([executor.chain], { journalDirectory });
    // A signer pays nothing until the event log that it is told has what it signed.
    await again.check(order);
    expect(await again.check({ ...order, id: 're_other-1' })).toMatchObject({ ok: false, code: 'exceeds_deposit' });
    expect(await again.check({ ...order, id: 're_other-1', amount: '4.00' })).toEqual({ ok: true });
  });

  it('does not start on a journal that somebody changed', async () => {
    const journalDirectory = mkdtempSync(join(directory, 'journal-'));
    const signer = await startSigner([executor.chain], { journalDirectory });
    await signer.stop('test', 'operator');
    await signer.close();
    const file = readdirSync(journalDirectory).find((name) => name.endsWith('.jsonl'))!;
    appendFileSync(
      join(journalDirectory, file),
      `${JSON.stringify({ seq: 2, kind: 'resumed', by: 'thief', atMs: 0, prev: '', hash: '' })}\n`,
    );
    await expect(startSigner([executor.chain], { journalDirectory })).rejects.toThrow(/does not follow/);
  });

  it('enforces its caps however small the parts are', async () => {
    const signer = await startSigner([executor.chain], {
      limits: { USDT: { perTransaction: '5', perHour: '12', perDay: '20', approvalFrom: '100' } },
    });
    const order = await paidOrder(signer, '50.00', '5.00');
    expect(await signer.check({ ...order, amount: '5.01' })).toMatchObject({
      ok: false,
      kind: 'later',
      code: 'per_transaction_cap',
    });
    let logPlace: SigningRequest['logPlace'] = null;
    const results: string[] = [];
    for (let piece = 0; piece < 4; piece += 1) {
      const answer = await signer.sign(
        await executor.request({ ...order, id: `piece-${piece}`, amount: '4.00' }, logPlace, piece),
      );
      results.push(answer.ok ? 'signed' : answer.code);
      if (answer.ok) logPlace = answer.journal;
    }
    expect(results).toEqual(['signed', 'signed', 'signed', 'hourly_cap']);
  });

  it('counts one approver once, and an approval only for what was approved', async () => {
    const approvers = ['ann', 'ben'].map(approverKey);
    const signer = await startSigner([executor.chain], { approvers, limits: { USDT: { ...WIDE, approvalFrom: '8' } } });
    const paid = await paidOrder(signer, '20.00', '1.00');
    const order = {
      ...paid,
      amount: '9.00',
      deposits: paid.deposits.map((deposit) => ({ ...deposit, amount: '9.00' })),
    };
    expect(await signer.check(order)).toMatchObject({ ok: false, kind: 'later', code: 'approval' });
    await approveAt(signer, { kind: 'transaction', order, proposedBy: 'merchant' }, 'ann');
    await approveAt(signer, { kind: 'transaction', order, proposedBy: 'merchant' }, 'ann');
    expect(await signer.check(order)).toMatchObject({ ok: false, code: 'approval' });
    await approveAt(
      signer,
      { kind: 'transaction', order: { ...order, amount: '8.50' }, proposedBy: 'merchant' },
      'ben',
    );
    expect(await signer.check(order)).toMatchObject({ ok: false, code: 'approval' });
    await approveAt(signer, { kind: 'transaction', order, proposedBy: 'merchant' }, 'ben');
    expect(await signer.check(order)).toEqual({ ok: true });
  });

  it('signs nothing while the kill switch is on, also after a restart', async () => {
    const journalDirectory = mkdtempSync(join(directory, 'journal-'));
    const signer = await startSigner([executor.chain], {
      journalDirectory,
      approvers: ['ann', 'ben'].map(approverKey),
    });
    const order = await paidOrder(signer);
    await signer.stop('test', 'operator');
    await signer.close();
    const again = await startSigner([executor.chain], { journalDirectory, approvers: ['ann', 'ben'].map(approverKey) });
    expect(await again.sign(await executor.request(order))).toMatchObject({
      ok: false,
      kind: 'later',
      code: 'kill_switch',
    });
    for (const name of ['ann', 'ben'])
      await approveAt(again, { kind: 'resume', mode: 'test', anew: [], proposedBy: 'operator' }, name);
    expect(await again.sign(await executor.request(order))).toMatchObject({ ok: true });
  });

  it('denies what no limit allows', async () => {
    const signer = await startSigner([executor.chain], { limits: {} });
    expect(await signer.check(await executor.deposit('1.00', '1.00'))).toMatchObject({ ok: false, code: 'no_policy' });
  });
});
