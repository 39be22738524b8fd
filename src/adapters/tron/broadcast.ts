import { z } from 'zod';
import type { RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { rpcErrorOf } from '../rpc/dialects.ts';
import { ask, textOf } from './rpc.ts';

const answer = z.union([
  z.object({ result: z.literal(true) }),
  z.object({ code: z.string(), message: z.string().default('') }),
]);

/**
 * Throws `RpcError` for a refusal. It proves nothing: DUP_TRANSACTION_ERROR means that the transaction is there, most
 * others that this node cannot take it now.
 */
export async function broadcastAt(provider: RpcProvider, transaction: unknown): Promise<void> {
  const said = await ask(provider, answer, 'wallet', 'broadcasttransaction', transaction);
  if ('result' in said) return;
  const text = `${said.code}: ${textOf(said.message).slice(0, 200)}`;
  throw rpcErrorOf({ family: 'tron', method: 'broadcasttransaction', text });
}
