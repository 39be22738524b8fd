import { mkdtempSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startSignerProcess, type SignerProcess } from '../../src/adapters/signer/process.ts';
import type { JournalPlace, TransactionDraft } from '../../src/domain/events/transaction-draft.ts';
import type { OutgoingTransaction } from '../../src/ports/outgoing/transaction.ts';
import type { SigningRequest } from '../../src/ports/outgoing/signer.ts';
import type { PayoutRules } from '../../src/ports/signer/protocol.ts';
import { silentLog } from '../../src/ports/log.ts';
import { Wallet } from '../../src/signer/keys/wallet.ts';
import { withBookedRefunds } from '../support/booked-refunds.ts';
import type { ModelChain } from '../support/model-chains/model-chain.ts';
import { modelSolana } from '../support/model-chains/solana-model.ts';
import { outgoing } from '../support/outgoing.ts';
import { approveAt, approverKey } from '../support/approvers.ts';
import { evmNodeWithDeposit, type StubNode } from '../crash/stub-evm-node.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/*
 * Whoever took over everything but the signer sits at its socket, names what it likes, and must not get a coin more
 * than deposits, caps and approvals allow.
 */

const MNEMONIC = 'test test test test test test test test test test test junk';
const wallet = new Wallet(MNEMONIC);
const FEES = { gasLimit: '90000', maxFeePerGas: '1000', maxPriorityFeePerGas: '1000' };
const limits = { perTransaction: '1000', perHour: '1000', perDay: '1000', approvalFrom: '1000' };

let directory: string;
let node: StubNode;
const running: SignerProcess[] = [];
beforeAll(async () => {
  directory = temporaryFolder('hostile-worker');
  node = await evmNodeWithDeposit({ toAddress: wallet.collectionAddress('evm', 0), units: 100_000_000n });
});
afterAll(() => node.close());
afterEach(() => Promise.all(running.splice(0).map((signer) => signer.close())));

async function signerOn(change: Partial<PayoutRules> = {}, urls = [node.url]): Promise<SignerProcess> {
  const journalDirectory = change.journalDirectory ?? mkdtempSync(join(directory, 'journal-'));
  const tokens = [{ coin: 'USDT', address: node.token, decimals: 6 }] as const;
  const networks = (['ethereum', 'bsc'] as const).map((network) => ({
    mode: 'test' as const,
    network,
    chainId: '31337',
    tokens,
    urls,
  }));
  const payouts: PayoutRules = {
    networks,
    limits: { USDT: limits },
    payoutsPerHour: 100,
    approvers: [],
    ...change,
    journalDirectory,
  };
  const wallets = { test: { kind: 'mnemonic', mnemonic: MNEMONIC } } as const;
  const signer = await startSignerProcess({ directory: journalDirectory, wallets, payouts, log: silentLog });
  withBookedRefunds(signer, signer.takeEvents);
  running.push(signer);
  return signer;
}

/** Gives 100 back of a deposit of 100. */
function request(
  change: Partial<OutgoingTransaction> = {},
  more: Partial<SigningRequest> = {},
  nonce = 0,
): SigningRequest {
  const proof = {
    depositKey: `ethereum:${node.txHash}:0`,
    txHash: node.txHash,
    logIndex: 0,
    toAddress: wallet.collectionAddress('evm', 0),
  };
  const order = outgoing({
    kind: 'refund',
    id: 're_1-1',
    network: 'ethereum',
    coin: 'USDT',
    amount: '100',
    fromAddress: wallet.treasury.evm,
    toAddress: node.payer,
    ...{ deposits: [{ ...proof, derivationIndex: 0, amount: change.amount ?? '100' }], ...change },
  });
  const tokenUnits = String(Number(order.amount) * 1e6);
  const draft = { kind: 'evm', chainId: '31337', nonce, tokenAddress: node.token, tokenUnits, ...FEES } as const;
  return { order, attempt: 1, draft, logPlace: null, ...more };
}

/** The hash in other writings that a lenient node understands. */
const OTHER_NAMES = (txHash: string): string[] => [
  txHash.slice(2),
  txHash.toUpperCase().replace('0X', '0x'),
  `0X${txHash.slice(2)}`,
  `0x${txHash.slice(2).replace('a', 'A')}`,
  ` ${txHash}`,
];

async function refused(task: Promise<unknown>): Promise<unknown> {
  const answer = await task.catch((error: { name: string; code?: string }) => ({
    ok: false,
    code: error.code ?? error.name,
  }));
  expect(answer).toMatchObject({ ok: false });
  return answer;
}

describe('a hostile worker at the socket of the signer', () => {
  it('gets one refund of a deposit, however it writes the name of its transaction', async () => {
    const signer = await signerOn();
    const first = await signer.sign(request());
    if (!first.ok) throw new Error(first.message);
    for (const [index, txHash] of OTHER_NAMES(node.txHash).entries())
      for (const depositKey of [`ethereum:${txHash}:0`, `ethereum:${node.txHash}:0`, `ethereum:${txHash}:00`]) {
        const deposits = [{ ...request().order.deposits[0]!, txHash, depositKey }];
        await refused(signer.sign(request({ id: `re_2-${index}`, deposits }, { logPlace: first.journal }, 1)));
      }
    expect((await signer.status('test')).entries).toBe(1);
  });

  it.each([
    ['a leg with a line break', { id: 're_1\n-1' }],
    ['a leg of many words', { id: 'x'.repeat(65) }],
    ['an index with a fraction', { deposits: [{ ...request0(), logIndex: 0.5 }] }],
    ['a payee with a wrong checksum', { toAddress: '0x70997970c51812dc3A010C7d01b50e0d17dc79C8' }],
    ['a payee of another network', { toAddress: wallet.treasury.tron }],
    ['an amount with zeros in front', { amount: '0100' }],
    ['a network that does not exist', { network: 'Ethereum' as never }],
    ['a key that is not of the deposit', { deposits: [{ ...request0(), depositKey: 'ethereum:other:0' }] }],
  ] as const)('is refused %s at the door', async (_, change) => {
    const signer = await signerOn();
    expect(await refused(signer.sign(request(change as Partial<OutgoingTransaction>)))).toMatchObject({
      code: 'invalid_params',
    });
  });

  it('is refused an amount that is finer than the token, with a word about the draft', async () => {
    const signer = await signerOn();
    const { draft } = request();
    for (const [amount, tokenUnits] of [
      ['100.0000000001', '100000000'],
      ['0.0000000000001', '0'],
    ] as const)
      expect(
        await refused(signer.sign(request({ amount }, { draft: { ...draft, tokenUnits } as TransactionDraft }))),
      ).toMatchObject({
        code: 'wrong_draft',
      });
  });

  it('cannot free the money of a payout by a name that two networks, or a refund and a move, share', async () => {
    const signer = await signerOn();
    const first = await signer.sign(request());
    if (!first.ok) throw new Error(first.message);
    const deposits = [{ ...request().order.deposits[0]!, depositKey: `bsc:${node.txHash}:0` }];
    const onBsc = await signer.sign(request({ network: 'bsc', deposits }));
    expect(onBsc).toMatchObject({ ok: false, code: 'id_taken' });
    const sweep = sweepOf({ id: 're_1-1' });
    expect(
      await signer.sign({ order: sweep, attempt: 1, draft: draftOf(sweep), logPlace: first.journal }),
    ).toMatchObject({
      ok: false,
      code: 'id_taken',
    });
  });

  it.each([
    ['a top-up', { kind: 'evm-native', chainId: '1', nonce: 0, value: '10000000000000000', ...FEES }],
    ['a top-up of another family', tronNative()],
    [
      'a top-up as a token',
      {
        kind: 'evm',
        chainId: '31337',
        nonce: 0,
        tokenAddress: '0x5FbDB2315678afecb367f032d93F642f64180aa3',
        tokenUnits: '10000',
        ...FEES,
      },
    ],
  ] as const)('gets no signature for %s of another chain', async (_, draft) => {
    const signer = await signerOn();
    const { evm } = wallet.treasury;
    const order = sweepOf({
      kind: 'gas_top_up',
      coin: 'ETH',
      amount: '0.01',
      fromAddress: evm,
      toAddress: wallet.collectionAddress('evm', 3),
    });
    expect(await signer.sign({ order, attempt: 1, draft: draft, logPlace: null })).toMatchObject({
      ok: false,
      code: 'wrong_draft',
    });
    const sweep = sweepOf();
    const onMain = { ...draftOf(sweep), chainId: '1' } as TransactionDraft;
    expect(await signer.sign({ order: sweep, attempt: 1, draft: onMain, logPlace: null })).toMatchObject({
      ok: false,
      code: 'wrong_draft',
    });
  });

  it('takes what the limits allow once, not once on each network', async () => {
    const signer = await signerOn({ limits: { USDT: { ...limits, perHour: '150', perDay: '150' } } });
    expect(await signer.sign(request())).toMatchObject({ ok: true });
    const onBsc = (amount: string) => {
      const deposits = [{ ...request().order.deposits[0]!, depositKey: `bsc:${node.txHash}:0`, amount }];
      return signer.sign(request({ id: 're_2-1', network: 'bsc', amount, deposits }));
    };
    expect(await onBsc('50.01')).toMatchObject({ ok: false, code: 'hourly_cap' });
    expect(await onBsc('50')).toMatchObject({ ok: true });
  });

  it('cannot end the signer by a failpoint', async () => {
    const wallets = { test: { kind: 'mnemonic', mnemonic: MNEMONIC } } as const;
    const armed = startSignerProcess({
      directory: join(directory, 'armed'),
      wallets,
      crashAt: 'signer-after-journal',
      log: silentLog,
    });
    await expect(armed).rejects.toThrow('crashAt is only for sandbox wallets');
  });
});

describe('a hostile worker that sends a refund elsewhere', () => {
  const ELSEWHERE = '0x90F79bf6EB2c4f870365E785982E1f101E93b906';

  it('gets nothing, whatever it says of evidence, and although two approvers agreed', async () => {
    const signer = await signerOn({ approvers: ['ada', 'ben'].map(approverKey) });
    const elsewhere = request({ toAddress: ELSEWHERE });
    expect(await refused(signer.sign(elsewhere))).toMatchObject({ code: 'not_the_payer' });
    for (const evidence of [{ kind: 'no_sender' }, { kind: 'test_payment', amount: '1.5' }]) {
      const refund = { ...elsewhere.order.refund!, claim: { claimId: 'clm_1', evidence } };
      const asked = request({ toAddress: ELSEWHERE, refund });
      expect(await refused(signer.sign(asked))).toMatchObject({ code: 'invalid_params' });
    }
    const act = { kind: 'transaction', order: elsewhere.order, proposedBy: 'merchant' } as const;
    for (const name of ['ada', 'ben']) await approveAt(signer, act, name);
    expect(await refused(signer.sign(elsewhere))).toMatchObject({ code: 'not_the_payer' });
    expect((await signer.status('test')).entries).toBe(0);
  });
});

describe('a hostile worker on Solana', () => {
  it('gets a deposit paid back once, whatever blockhash, nonce, price and attempt it names, and however often the signer starts', async () => {
    const chain = await modelSolana();
    const journalDirectory = mkdtempSync(join(directory, 'journal-'));
    try {
      const networks = [
        { mode: 'test', network: 'solana', chainId: 'model', tokens: tokensOf(chain), urls: chain.urls },
      ] as const;
      const [of] = chain.paid;
      const order = outgoing({
        kind: 'refund',
        id: 're_1-1',
        network: 'solana',
        coin: 'USDT',
        amount: '60',
        fromAddress: wallet.treasury.solana,
        ...{ toAddress: of!.payer, deposits: [{ ...of!.proof, amount: '60' }] },
      });
      let logPlace: JournalPlace | null = null;
      let attempt = 1;
      let signed = 0;
      for (const round of [0, 1]) {
        const signer = await signerOn({ journalDirectory, networks });
        for (let pick = 0; pick < 24; pick += 1) {
          const draft =
            pick % 3 === 0 ? chain.draft(of!.units, pick, pick % 2) : chain.lie(of!.units, 100 * round + pick);
          const answer = await signer.sign({ order, attempt, draft, logPlace });
          chain.advance(pick);
          if (!answer.ok) continue;
          [logPlace, attempt, signed] = [answer.journal, attempt + 1, signed + 1];
          chain.submit(answer.signedBytes);
        }
        await signer.close();
      }
      expect(signed).toBeGreaterThan(0);
      expect(chain.landed.map(({ toAddress, units }) => [toAddress, units])).toEqual([[of!.payer, of!.units]]);
    } finally {
      await chain.close();
    }
  });
});

describe('a provider with an endless response', () => {
  let server: Server;
  let endless: 'drips' | 'floods';
  beforeAll(async () => {
    server = createServer((_, response) => {
      response.write('{"jsonrpc":"2.0","id":1,"result":"');
      if (endless === 'drips') {
        const timer = setInterval(() => response.write('x'), 100);
        response.on('close', () => clearInterval(timer));
        return;
      }
      const flood = (): void => {
        while (!response.destroyed && response.write('x'.repeat(1 << 20)));
      };
      response.on('drain', flood);
      flood();
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  it.each(['drips', 'floods'] as const)(
    '%s for a moment only',
    async (way) => {
      endless = way;
      const signer = await signerOn({}, [`http://127.0.0.1:${(server.address() as AddressInfo).port}`]);
      expect(await signer.check(request().order)).toMatchObject({
        ok: false,
        kind: 'later',
        code: 'chain_unavailable',
      });
    },
    20_000,
  );
});

const tokensOf = ({ token }: ModelChain) => [{ coin: 'USDT', address: token, decimals: 6 }] as const;

function request0() {
  const txHash = `0x${'ab'.repeat(32)}`;
  return {
    depositKey: `ethereum:${txHash}:0`,
    txHash,
    logIndex: 0,
    toAddress: wallet.collectionAddress('evm', 0),
    derivationIndex: 0,
  };
}

function sweepOf(change: Partial<OutgoingTransaction> = {}): OutgoingTransaction {
  return outgoing({
    ...{ kind: 'sweep', id: 'swp_1', network: 'ethereum', coin: 'USDT', amount: '0.01' },
    fromAddress: wallet.collectionAddress('evm', 3),
    toAddress: wallet.treasury.evm,
    derivationIndex: 3,
    ...change,
  });
}

function draftOf({ amount }: OutgoingTransaction): TransactionDraft {
  return {
    kind: 'evm',
    chainId: '31337',
    nonce: 0,
    tokenAddress: node.token,
    tokenUnits: String(Number(amount) * 1e6),
    ...FEES,
  };
}

function tronNative(): TransactionDraft {
  return {
    kind: 'tron-native',
    sun: '10000',
    refBlockBytes: '0001',
    refBlockHash: '0011223344556677',
    expirationMs: 60_000,
    timestampMs: 1,
  };
}
