import type { Token } from '../../domain/networks/networks.ts';
import { ProviderFault, RpcError, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { faultOf } from '../rpc/dialects.ts';
import { must } from '../../domain/values/must.ts';

/** Addresses per call: about two million gas, far below the limits of nodes, and small enough for init code. */
const A_CALL = 200;
const WORD = 64;
const RESULTS_AT = 0x40;
const HEX = /^0x[0-9a-f]*$/i;

/**
 * Token balances of many addresses in the newest final block, 200 per call. The call runs init code that queries the
 * token for each address and returns the results, so no deployed contract is needed.
 */
export async function evmTokenUnits(
  provider: RpcProvider,
  token: Token,
  addresses: readonly string[],
): Promise<bigint[]> {
  const words = await readAll(provider, addresses, 2, (part) => codeFor(token, part));
  return addresses.map((_, index) => {
    if (words[2 * index + 1] === 0n)
      throw new ProviderFault('incapable', `${token.coin} does not say what an account holds`);
    return must(words[2 * index]);
  });
}

/** Native balances (wei) of many addresses in the newest final block. */
export function evmNativeUnits(provider: RpcProvider, addresses: readonly string[]): Promise<bigint[]> {
  // MSTORE(at, BALANCE(address)) for each … RETURN(0, 32 bytes an address)
  const code = (part: readonly string[]): string =>
    `0x${part.map((address, index) => `73${bare(address)}3162${offset(index * 32)}52`).join('')}62${offset(part.length * 32)}6000f3`;
  return readAll(provider, addresses, 1, code);
}

/** Runs the code for 200 addresses at a time and returns its words. */
async function readAll(
  provider: RpcProvider,
  addresses: readonly string[],
  wordsEach: number,
  codeOf: (part: readonly string[]) => string,
): Promise<bigint[]> {
  const words: bigint[] = [];
  for (let from = 0; from < addresses.length; from += A_CALL) {
    const part = addresses.slice(from, from + A_CALL);
    const answer = await call(provider, codeOf(part));
    if (answer.length !== 2 + part.length * wordsEach * WORD || !HEX.test(answer))
      throw new ProviderFault('incapable', 'does not say what many accounts hold');
    for (let at = 2; at < answer.length; at += WORD) words.push(BigInt(`0x${answer.slice(at, at + WORD)}`));
  }
  return words;
}

const bare = (address: string): string => address.slice(2).toLowerCase();
const offset = (value: number): string => value.toString(16).padStart(6, '0');

async function call(provider: RpcProvider, data: string): Promise<string> {
  try {
    return String(await provider.call('eth_call', [{ data }, 'finalized']));
  } catch (error) {
    throw error instanceof RpcError ? faultOf(error, 'does not run a call for many accounts') : error;
  }
}

/**
 * Memory layout: selector and address of `balanceOf` from 0, then for each address its balance and whether the token
 * answered.
 */
function codeFor(token: Token, addresses: readonly string[]): string {
  const asks = addresses.map((address, index) => {
    const at = RESULTS_AT + index * WORD;
    // MSTORE(4, address); MSTORE(at + 32, STATICCALL(gas, token, 0, 36, at, 32) AND RETURNDATASIZE = 32)
    return (
      `73${bare(address)}600452` +
      `602062${offset(at)}6024600073${bare(token.address)}5afa` +
      `3d60201416` +
      `62${offset(at + 32)}52`
    );
  });
  // MSTORE(0, selector << 224) … RETURN(RESULTS_AT, 64 bytes an address)
  return `0x6370a0823160e01b600052${asks.join('')}62${offset(addresses.length * WORD)}62${offset(RESULTS_AT)}f3`;
}
