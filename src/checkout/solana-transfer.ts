import type { Request, Response } from 'express';
import { ChainUnavailable } from '../ports/chain/chain.ts';
import type { PayerTransactions } from '../ports/chain/payer-transactions.ts';
import type { SessionView } from '../features/shared/views.ts';
import { baseUnits } from './deep-links.ts';
import { toSend as toSendAt } from './page/model.ts';

/** Wallet Standard names of Solana's public networks by genesis hash; every other chain is local. */
const WALLET_CHAINS: Readonly<Record<string, string>> = {
  '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d': 'solana:mainnet',
  EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG: 'solana:devnet',
  '4uhcVJyU9pJkvQyS88uRDiswHXSCkY3zQawwpjk2NsNY': 'solana:testnet',
};

export const walletChainOf = (genesisHash: string): string => WALLET_CHAINS[genesisHash] ?? 'solana:localnet';

/**
 * The transfer for a Solana wallet in the browser to sign, for the payer named in the query. `units` and `coin` must
 * match what is due now, so that a stale page never gets an amount signed other than the one it shows.
 */
export async function answerSolanaTransfer(
  request: Request,
  response: Response,
  session: SessionView,
  context: { readonly transactions: PayerTransactions | null; readonly nowSec: number },
): Promise<void> {
  const option = session.paymentOptions.find(({ network }) => network === 'solana');
  const toSend = toSendAt(session, context.nowSec);
  if (!option || !context.transactions || toSend === null) return void response.status(404).end();
  const units = baseUnits(toSend, option.decimals);
  if (request.query.units !== units || request.query.coin !== option.coin) return void response.status(409).end();
  const { payer } = request.query;
  if (typeof payer !== 'string') return void response.status(400).end();
  const { address: owner, tokenAddress, decimals, reference } = option;
  const wanted = { payer, owner, tokenAddress, decimals, tokenUnits: BigInt(units) };
  try {
    const bytes = await context.transactions.unsignedTransfer({
      ...wanted,
      ...(reference !== undefined && { reference }),
    });
    if (bytes === null) return void response.status(400).end();
    response.json({ transaction: Buffer.from(bytes).toString('base64') });
  } catch (error) {
    if (!(error instanceof ChainUnavailable)) throw error;
    response.status(503).set('Retry-After', '5').end();
  }
}
