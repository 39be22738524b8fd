import { join } from 'node:path';
import {
  createAssociatedTokenAccountIdempotentInstruction,
  createTransferCheckedInstruction,
  getAssociatedTokenAddressSync,
} from '@solana/spl-token';
import { Connection, PublicKey, SystemProgram, Transaction } from '@solana/web3.js';
import { TronWeb, type Types } from 'tronweb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readMnemonic } from '../../src/signer/keys/wallet-source.ts';
import { Wallet } from '../../src/signer/keys/wallet.ts';
import { CrashWorld } from '../crash/crash-world.ts';
import { newAddress } from '../crash/local-chain.ts';
import { until } from '../crash/running-service.ts';

/* Somebody else holds the treasury's key. Transactions of ours are told from theirs by the signer's journal. */

const WAIT_MS = 60_000;

interface Theft {
  token(to: string): Promise<string>;
  native(to: string): Promise<string>;
}
interface Found {
  readonly outflowKey: string;
  readonly coin: string | null;
  readonly amount: string | null;
  readonly toAddress: string | null;
  readonly txHash: string | null;
}

const tokenOn = (world: CrashWorld): string => world.chain.settings.tokens.find(({ coin }) => coin === 'USDT')!.address;

const THEFTS: Readonly<Record<'tron' | 'solana', (world: CrashWorld, wallet: Wallet) => Theft>> = {
  tron: (world, wallet) => {
    const web = new TronWeb({ fullHost: world.chain.rpcUrl });
    const owner = wallet.treasury.tron;
    const send = async (transaction: Types.Transaction): Promise<string> => {
      const signature = Buffer.from(
        await wallet.signDigest('tron', 'treasury', Buffer.from(transaction.txID, 'hex')),
      ).toString('hex');
      return (await web.trx.sendRawTransaction({ ...transaction, signature: [signature] })).txid;
    };
    return {
      token: async (to) => {
        const parameters = [
          { type: 'address', value: to },
          { type: 'uint256', value: '7000000' },
        ];
        const call = 'transfer(address,uint256)';
        const built = await web.transactionBuilder.triggerSmartContract(
          tokenOn(world),
          call,
          { feeLimit: 40e6 },
          parameters,
          owner,
        );
        return send(built.transaction);
      },
      native: async (to) => send(await web.transactionBuilder.sendTrx(to, 3_000_000, owner)),
    };
  },
  solana: (world, wallet) => {
    const connection = new Connection(world.chain.rpcUrl, 'confirmed');
    const treasury = new PublicKey(wallet.treasury.solana);
    const send = async (transaction: Transaction): Promise<string> => {
      transaction.feePayer = treasury;
      transaction.recentBlockhash = (await connection.getLatestBlockhash()).blockhash;
      transaction.addSignature(
        treasury,
        Buffer.from(await wallet.signSolanaMessage('treasury', transaction.serializeMessage())),
      );
      return connection.sendRawTransaction(transaction.serialize());
    };
    return {
      token: (to) => {
        const [mint, owner] = [new PublicKey(tokenOn(world)), new PublicKey(to)];
        const [from, into] = [treasury, owner].map((account) => getAssociatedTokenAddressSync(mint, account));
        const transaction = new Transaction();
        transaction.add(createAssociatedTokenAccountIdempotentInstruction(treasury, into!, owner, mint));
        return send(transaction.add(createTransferCheckedInstruction(from!, mint, into!, treasury, 7_000_000, 6)));
      },
      native: (to) =>
        send(
          new Transaction().add(
            SystemProgram.transfer({ fromPubkey: treasury, toPubkey: new PublicKey(to), lamports: 3_000_000_000 }),
          ),
        ),
    };
  },
};

describe.each(['tron', 'solana'] as const)('a transaction of the treasury that nobody ordered, on %s', (network) => {
  let world: CrashWorld;
  let theft: Theft;
  beforeAll(async () => {
    world = await CrashWorld.create(network);
    theft = THEFTS[network](
      world,
      new Wallet(readMnemonic('test', { kind: 'sandbox', directory: join(world.dataDir, 'wallet') })),
    );
  });
  afterAll(() => world.remove());

  const unknown = async (): Promise<readonly Found[]> =>
    (await world.admin<{ treasuries: { unknown: readonly Found[] }[] }>('treasury.reconcile', { network }))
      .treasuries[0]!.unknown;
  const found = (txHash: string): Promise<readonly Found[]> =>
    until('it is found', WAIT_MS, async () => {
      const outflows = await unknown();
      return outflows.some((outflow) => outflow.txHash === txHash) && outflows;
    });
  const alarm = async (): Promise<string | null> =>
    (await world.admin<{ treasuries: { alarm: string | null }[] }>('treasury.status')).treasuries[0]!.alarm;

  it('is reported with what it took, and payouts stop until it is acknowledged', async () => {
    const thief = newAddress(network);
    const txHash = await theft.token(thief);
    const outflows = await found(txHash);
    expect(outflows.every((outflow) => outflow.txHash === txHash)).toBe(true);
    expect(outflows[0]).toMatchObject({ coin: 'USDT', amount: '7.00', toAddress: thief });
    await until('payouts stand still', WAIT_MS, async () => (await alarm())?.includes(txHash));
    expect(await unknown()).toEqual([]);
    // Its fee is an outflow of its own, which somebody who names the transaction has not named.
    if (outflows.length > 1)
      await expect(
        world.twoApprove('treasury.acknowledge', { outflow: txHash, operator: 'ada', reason: 'a drill' }),
      ).rejects.toThrow('explained by itself');
    for (const { outflowKey } of outflows)
      expect(
        await world.twoApprove('treasury.acknowledge', { outflow: outflowKey, operator: 'ada', reason: 'a drill' }),
      ).toEqual({ acknowledged: outflowKey, approved_by: ['ben', 'cleo'], counted: true });
    await until('the alarm ends', WAIT_MS, async () => (await alarm()) === null);
    await until('the books have the loss', WAIT_MS, async () => (await world.disagreement()) === null);
  });

  it('is named when it took the native coin alone', async () => {
    const txHash = await theft.native(newAddress(network));
    const [outflow, ...others] = await found(txHash);
    expect(others).toEqual([]);
    expect(Number(outflow!.amount)).toBeGreaterThanOrEqual(3);
    expect(outflow!.coin).toBe(network === 'tron' ? 'TRX' : 'SOL');
    await until('payouts stand still', WAIT_MS, async () => (await alarm())?.includes(txHash));
    await world.twoApprove('treasury.acknowledge', { outflow: txHash, operator: 'ada', reason: 'a drill' });
    await until('the books have the loss', WAIT_MS, async () => (await world.disagreement()) === null);
  });

  it('is not one of ours: refunds, sweeps with their gas, withdrawals and settlements are explained', async () => {
    for (const journey of ['refund', 'sweep', 'withdrawal', 'settlement'] as const)
      expect(await world.through(journey, [])).toMatchObject({ transfers: 1, violation: null });
    await until('books and chain agree', WAIT_MS, async () => (await world.disagreement()) === null);
    expect(await alarm()).toBeNull();
  });
});
