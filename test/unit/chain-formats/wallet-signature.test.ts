import { generateKeyPairSync, sign } from 'node:crypto';
import { Wallet } from 'ethers';
import { TronWeb } from 'tronweb';
import { describe, expect, it } from 'vitest';
import type { Network } from '../../../src/domain/networks/networks.ts';
import { base58 } from '../../../src/chain-formats/base58.ts';
import { isSignedByWallet } from '../../../src/chain-formats/wallet-signature.ts';

const TEXT = 'Quittance refund claim\nrefund to: somebody — é\nnumber: 1';
const evm = Wallet.createRandom();
const tron = TronWeb.createRandom();
const solana = generateKeyPairSync('ed25519');
const solanaAddress = base58(Buffer.from((solana.publicKey.export({ format: 'jwk' }) as { x: string }).x, 'base64url'));
const bySolana = (bytes: Uint8Array): string => `0x${sign(null, bytes, solana.privateKey).toString('hex')}`;
/** As `solana sign-offchain-message` signs it. */
function offChain(text: string): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16LE(Buffer.byteLength(text));
  return Buffer.concat([Buffer.from('\xffsolana offchain\x00\x01', 'latin1'), length, Buffer.from(text)]);
}
const tronSigned = (text: string): string =>
  new TronWeb({ fullHost: 'http://127.0.0.1:1' }).trx.signMessageV2(text, tron.privateKey.slice(2));

const CASES: readonly [string, Network, string, (text: string) => string][] = [
  ['personal_sign on Ethereum', 'ethereum', evm.address, (text) => evm.signMessageSync(text)],
  ['personal_sign on BSC', 'bsc', evm.address, (text) => evm.signMessageSync(text)],
  ['signMessageV2 on TRON', 'tron', tron.address, tronSigned],
  ['signMessage on Solana', 'solana', solanaAddress, (text) => bySolana(Buffer.from(text))],
  ['an off-chain message on Solana', 'solana', solanaAddress, (text) => bySolana(offChain(text))],
];

describe.each(CASES)('%s', (_, network, address, signed) => {
  it('proves the address for exactly this text', async () => {
    expect(await isSignedByWallet(network, address, TEXT, signed(TEXT))).toBe(true);
  });

  it('proves nothing for another text, another address, or bytes that are not a signature', async () => {
    const signature = signed(TEXT);
    expect(await isSignedByWallet(network, address, `${TEXT}1`, signature)).toBe(false);
    expect(await isSignedByWallet(network, address, TEXT, signed(`${TEXT}1`))).toBe(false);
    const other = {
      evm: Wallet.createRandom().address,
      tron: TronWeb.createRandom().address,
      solana: base58(Buffer.alloc(32, 7)),
    };
    expect(
      await isSignedByWallet(
        network,
        network === 'tron' || network === 'solana' ? other[network] : other.evm,
        TEXT,
        signature,
      ),
    ).toBe(false);
    for (const wrong of [
      '',
      '0x',
      signature.slice(0, -2),
      `${signature}00`,
      `0x${'00'.repeat((signature.length - 2) / 2)}`,
      `0x${'ff'.repeat((signature.length - 2) / 2)}`,
    ])
      expect(await isSignedByWallet(network, address, TEXT, wrong)).toBe(false);
  });
});

it('a signature for one family of wallets proves nothing for another with the same key', async () => {
  const sameKey = new Wallet(tron.privateKey);
  expect(await isSignedByWallet('tron', tron.address, TEXT, sameKey.signMessageSync(TEXT))).toBe(false);
  expect(await isSignedByWallet('ethereum', sameKey.address, TEXT, tronSigned(TEXT))).toBe(false);
});
