import type { Token } from '../../domain/networks.ts';
import { ProviderFault, RpcError, type RpcProvider } from '../../ports/rpc-pool.ts';

/** Addresses in one call: about two million gas, far below what nodes allow, and below the limit for code that is run once. */
const A_CALL = 200;
const WORD = 64;
const RESULTS_AT = 0x40;

/**
 * What many addresses hold of a token in the newest final block, 200 a call: code that asks the token for each of them and
 * returns the answers is run as if it were being deployed, so no contract of anybody's is needed for it.
 */
export async function evmTokenUnits(provider: RpcProvider, token: Token, addresses: readonly string[]): Promise<bigint[]> {
  const units: bigint[] = [];
  for (let from = 0; from < addresses.length; from += A_CALL) {
    const part = addresses.slice(from, from + A_CALL);
    const answer = await call(provider, codeFor(token, part));
    if (answer.length !== 2 + part.length * 2 * WORD) throw new ProviderFault('incapable', 'does not say what many accounts hold');
    for (let index = 0; index < part.length; index += 1) {
      const at = 2 + index * 2 * WORD;
      if (BigInt(`0x${answer.slice(at + WORD, at + 2 * WORD)}`) === 0n)
        throw new ProviderFault('incapable', `${token.coin} does not say what an account holds`);
      units.push(BigInt(`0x${answer.slice(at, at + WORD)}`));
    }
  }
  return units;
}

async function call(provider: RpcProvider, data: string): Promise<string> {
  try {
    return String(await provider.call('eth_call', [{ data }, 'finalized']));
  } catch (error) {
    if (error instanceof RpcError) throw new ProviderFault('incapable', `does not run a call for many accounts (${error.code}: ${error.message})`);
    throw error;
  }
}

/** Memory: the selector and the address of `balanceOf` from 0, then for each address its balance and whether the token answered. */
function codeFor(token: Token, addresses: readonly string[]): string {
  const bare = (address: string): string => address.slice(2).toLowerCase();
  const number = (value: number): string => value.toString(16).padStart(6, '0');
  const asks = addresses.map((address, index) => {
    const at = RESULTS_AT + index * WORD;
    // MSTORE(4, address); MSTORE(at + 32, STATICCALL(gas, token, 0, 36, at, 32))
    return `73${bare(address)}600452` + `602062${number(at)}6024600073${bare(token.address)}5afa` + `62${number(at + 32)}52`;
  });
  // MSTORE(0, selector << 224) … RETURN(RESULTS_AT, 64 bytes an address)
  return `0x6370a0823160e01b600052${asks.join('')}62${number(addresses.length * WORD)}62${number(RESULTS_AT)}f3`;
}
