import { describe, expect, it, onTestFinished } from 'vitest';
import { createSolanaChain } from '../../src/adapters/solana/chain.ts';
import { createRpcPool } from '../../src/adapters/rpc/pool.ts';
import { payerOf, tokenDeltas } from '../../src/adapters/solana/token-balances.ts';
import type { NetworkSettings } from '../../src/domain/networks/networks.ts';
import { associatedTokenAccount } from '../../src/chain-formats/spl-token.ts';
import { deltasOf, payerOf as payerOfSigner } from '../../src/signer/chains/solana-balances.ts';
import { agaveBlocks, agaveSignatures, agaveTokenChanges } from '../support/recorded-solana.ts';
import { MAINNET_GENESIS, mintAccount, playSolanaNode } from '../support/solana-node.ts';

const { mints, changes } = agaveTokenChanges();
const tokens: NetworkSettings['tokens'] = [
  { coin: 'USDT', address: mints.USDT, decimals: 6 },
  { coin: 'USDC', address: mints.USDC, decimals: 6 },
];
const settings: NetworkSettings = {
  ...{ network: 'solana', mode: 'live', chainId: MAINNET_GENESIS, tokens },
  ...{ simulated: false, mainNetwork: true, explorerTransactionUrl: null },
};
const blocks = agaveBlocks();
const transactions = new Map(
  blocks.flatMap(({ slot, block }) =>
    block.transactions.map(
      (transaction) => [transaction.transaction.signatures[0]!, { ...transaction, slot }] as const,
    ),
  ),
);
const isCoin = (mint: string): boolean => tokens.some(({ address }) => address === mint);
const ofCoins = changes.filter(({ mint, failed, pre, post }) => isCoin(mint) && !failed && pre !== post);

/** Everything that the chain did, by the same node's own lists. */
async function recordedChain() {
  const newest = blocks.at(-1)!.slot;
  const node = await playSolanaNode(newest);
  for (const { address } of tokens) node.accounts.set(address, mintAccount());
  for (const [signature, transaction] of transactions) node.transactions.set(signature, transaction);
  for (const [account, listed] of Object.entries(agaveSignatures()))
    node.histories.set(
      account,
      listed.map(({ signature }) => signature),
    );
  const pool = createRpcPool({ network: 'solana', urls: [node.url], maxWaitMs: 0 });
  const chain = createSolanaChain({ settings, pool });
  onTestFinished(async () => {
    await chain.close();
    await node.close();
  });
  return chain;
}

describe('a recorded chain of Agave 4.0.0', () => {
  it('changes token accounts by exactly what another program read', () => {
    const read = [...transactions].flatMap(([signature, transaction]) =>
      tokenDeltas(transaction, tokens).map(({ account, token, units, owner }) => ({
        ...{ signature, account, mint: token.address, units, owner },
      })),
    );
    const byName = (a: { signature: string; account: string }, b: { signature: string; account: string }): number =>
      `${a.signature} ${a.account}` < `${b.signature} ${b.account}` ? -1 : 1;
    expect(read.toSorted(byName)).toEqual(
      ofCoins
        .map(({ signature, account, mint, pre, post, pre_owner, post_owner }) => {
          const units = BigInt(post) - BigInt(pre);
          return { signature, account, mint, units, owner: units < 0n ? pre_owner : post_owner };
        })
        .toSorted(byName),
    );
  });

  it('names as payer only who owned the account before and after, as the signer reads it too', () => {
    const seen = new Set<string>();
    for (const [signature, transaction] of transactions) {
      const { preTokenBalances, postTokenBalances, err } = transaction.meta;
      if (err !== null) continue;
      for (const { address } of tokens) {
        const { fromAddress, unknownPayer } = payerOf(tokenDeltas(transaction, tokens), address);
        expect(payerOfSigner(deltasOf(preTokenBalances!, postTokenBalances!), address)).toEqual({
          payer: fromAddress,
          ...(unknownPayer && { unknownPayer }),
        });
        const lost = ofCoins.filter(
          (one) => one.signature === signature && one.mint === address && BigInt(one.post) < BigInt(one.pre),
        );
        if (fromAddress !== null)
          expect(lost.every((one) => one.pre_owner === fromAddress && one.post_owner === fromAddress)).toBe(true);
        if (lost.length > 0) seen.add(unknownPayer ?? 'known');
      }
    }
    expect([...seen].sort()).toEqual([
      ...['account_closed', 'account_handed_over', 'known', 'nobody_paid', 'several_payers'],
    ]);
  });

  it('lists the history of each account and its transfers without one more or less', async () => {
    const chain = await recordedChain();
    for (const [account, listed] of Object.entries(agaveSignatures())) {
      const history = await chain.history(account, { commitment: 'finalized' });
      expect(history.map(({ txHash, slot }) => ({ signature: txHash, slot }))).toEqual(
        listed.map(({ signature, slot }) => ({ signature, slot })),
      );
    }
    for (const { signature, account, mint, pre, post, post_owner } of ofCoins) {
      const token = tokens.find(({ address }) => address === mint)!;
      const effect = await chain.effectOf(signature, { account, owner: post_owner!, token });
      expect(effect?.unitsDelta).toBe(BigInt(post) - BigInt(pre));
      if (BigInt(post) > BigInt(pre))
        expect(effect?.transfer).toMatchObject({ tokenUnits: BigInt(post) - BigInt(pre), toAddress: post_owner });
      else expect(effect?.transfer).toBeNull();
    }
    expect(ofCoins.some(({ account, mint, post_owner }) => account !== associatedTokenAccount(post_owner!, mint))).toBe(
      true,
    );
  });
});
