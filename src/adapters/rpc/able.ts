import { ProviderFault, RpcError } from '../../ports/chain/rpc-pool.ts';

/** What a provider must be able to answer. Throws `ProviderFault` if it refuses the method. */
export async function able<Value>(task: () => Promise<Value>): Promise<Value> {
  try {
    return await task();
  } catch (error) {
    if (error instanceof RpcError)
      throw new ProviderFault('incapable', `refused a method it must serve (${error.code}: ${error.message})`);
    throw error;
  }
}
