import { z } from 'zod';
import type { NetworkSettings } from '../../domain/networks/networks.ts';
import { ProviderFault, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { base58 } from '../../chain-formats/base58.ts';
import { TOKEN_PROGRAM } from '../../chain-formats/spl-token.ts';
import { able } from '../rpc/able.ts';
import {
  ask,
  blockAtSlot,
  hasStatus,
  readAccounts,
  readBalances,
  readHistory,
  readTransaction,
  slotOf,
} from './rpc.ts';

/** A valid signature of a transaction that never existed. */
const NO_TRANSACTION = base58(new Uint8Array(64).fill(1));
/** An account that never existed. */
const NO_ACCOUNT = base58(new Uint8Array(32).fill(1));
const MINT_DECIMALS_OFFSET = 44;

/**
 * Verifies that a provider serves this chain with these mints and answers every call that the adapter needs. Throws
 * `ProviderFault`.
 */
export async function verifySolanaProvider(provider: RpcProvider, settings: NetworkSettings): Promise<void> {
  const genesis = await able(() => ask(provider, z.string(), 'getGenesisHash', []));
  if (genesis !== settings.chainId)
    throw new ProviderFault('wrong-chain', `serves chain ${genesis} instead of ${settings.chainId}`);
  const slot = await able(() => slotOf(provider, 'finalized'));
  await Promise.all([
    able(() => verifyMints(provider, settings)),
    able(() => readBalances(provider, [])),
    able(() => blockAtSlot(provider, slot, 'finalized')),
    able(() => readHistory(provider, NO_ACCOUNT, { commitment: 'finalized' })),
    able(() => readTransaction(provider, NO_TRANSACTION, 'finalized')),
    able(() => hasStatus(provider, NO_TRANSACTION)),
  ]);
}

async function verifyMints(provider: RpcProvider, { tokens }: NetworkSettings): Promise<void> {
  const addresses = tokens.map(({ address }) => address);
  const { accounts } = await readAccounts(provider, addresses, { commitment: 'confirmed' });
  for (const [index, token] of tokens.entries()) {
    const mint = accounts[index];
    // Its genesis is right, so what is missing is missing at this node.
    if (!mint) throw new ProviderFault('behind', `has no ${token.coin} mint at ${token.address}`);
    if (mint.owner !== TOKEN_PROGRAM)
      throw new ProviderFault('wrong-chain', `has no classic ${token.coin} mint at ${token.address}`);
    const decimals = Buffer.from(mint.data[0], 'base64')[MINT_DECIMALS_OFFSET];
    if (decimals === undefined) throw new ProviderFault('inconsistent', `answered no data of ${token.address}`);
    if (decimals !== token.decimals)
      throw new ProviderFault(
        'wrong-chain',
        `${token.coin} at ${token.address} has ${decimals} decimals instead of ${token.decimals}`,
      );
  }
}
