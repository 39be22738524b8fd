import { RpcError } from '../../ports/chain/rpc-pool.ts';
import { faultOf } from './dialects.ts';

/** What a provider must be able to answer. Throws `ProviderFault`, which tells "cannot" from "not yet". */
export async function able<Value>(task: () => Promise<Value>): Promise<Value> {
  try {
    return await task();
  } catch (error) {
    throw error instanceof RpcError ? faultOf(error, 'refused what it must serve') : error;
  }
}
