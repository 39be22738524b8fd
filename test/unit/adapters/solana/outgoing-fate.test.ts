import { describe, expect, it } from 'vitest';
import { agreedFate } from '../../../../src/adapters/rpc/agreed-fate.ts';
import { fateAt } from '../../../../src/adapters/solana/outgoing-fate.ts';
import { base58 } from '../../../../src/chain-formats/base58.ts';
import { answeringProvider, Refuses } from '../../../support/answering-provider.ts';
import { nonceAccount } from '../../../support/solana-node.ts';

/* A payout of which a node has deleted something, as Agave does with its oldest slots. */

const key = (fill: number): string => base58(Buffer.alloc(32, fill));
const [TREASURY, NONCE, NEXT, TX] = [key(1), key(2), key(3), base58(Buffer.alloc(64, 4))];
const [SLOT, FINAL] = [900, 1_000];
const asked = {
  treasury: TREASURY,
  expected: { native: 7n * 10n ** 18n },
  sent: [{ txHash: TX, signedBytes: '', validity: { kind: 'solana-nonce', nonceIndex: 0, nonce: NONCE } as const }],
};
const meta = { err: null, fee: 5_000, preBalances: [10_000_010_000, 1], postBalances: [3_000_005_000, 7_000_000_001] };
const names = (pubkey: string, signer: boolean) => ({ pubkey, signer, writable: true, source: 'transaction' });
const listed = (signature: string) => ({
  ...{ meta, version: 'legacy' },
  transaction: { signatures: [signature], accountKeys: [names(TREASURY, true), names(key(5), false)] },
});
const block = (...transactions: readonly object[]) => ({
  ...{ blockhash: 'hash', previousBlockhash: 'parent', blockTime: 1, transactions },
});
const status = { slot: SLOT, err: null, confirmationStatus: 'finalized' };
const stored = (nonce: string) => {
  const { data, owner } = nonceAccount(TREASURY, nonce);
  return { context: { slot: FINAL }, value: [{ data: [data, 'base64'], owner }] };
};
const node = (answers: Readonly<Record<string, unknown>>) =>
  answeringProvider(
    {
      ...{ getSlot: FINAL, getSignatureStatuses: { context: { slot: FINAL }, value: [status] }, getTransaction: null },
      ...answers,
    },
    { family: 'solana' },
  );
const forgotten = { getSignatureStatuses: { context: { slot: FINAL }, value: [null] } };

describe('a payout whose signature a node finds no more', () => {
  it('is found in the block that its status names', async () => {
    expect(await fateAt(node({ getBlock: block(listed('another'), listed(TX)) }), asked)).toMatchObject({
      kind: 'landed',
      landed: { txHash: TX, blockNumber: SLOT, blockHash: 'hash', networkFee: '0.000005' },
    });
  });

  it('is not judged where the block is gone, too, or does not list it', async () => {
    const gone = `Block ${SLOT} cleaned up, does not exist on node. First available block: 990`;
    await expect(fateAt(node({ getBlock: new Refuses(gone, -32_001) }), asked)).rejects.toThrow(
      `keeps nothing of slot ${SLOT} any more`,
    );
    expect(await fateAt(node({ getBlock: block(listed('another')) }), asked)).toEqual({
      kind: 'pending',
      inBlock: true,
    });
  });

  it('says that nobody shows it, where its nonce was used, and is absent where it was not', async () => {
    const used = await fateAt(node({ ...forgotten, getMultipleAccounts: stored(NEXT) }), asked);
    expect(used).toMatchObject({ kind: 'pending', inBlock: true });
    expect(used).toHaveProperty('unseen', expect.stringContaining('keeps the whole chain'));
    expect(await fateAt(node({ ...forgotten, getMultipleAccounts: stored(NONCE) }), asked)).toEqual({ kind: 'absent' });
    const landed = await fateAt(node({ getBlock: block(listed(TX)) }), asked);
    for (const opinions of [
      [used, landed],
      [landed, used],
    ])
      expect(agreedFate(opinions)).toEqual(used);
  });
});
