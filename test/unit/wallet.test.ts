import { afterAll, describe, expect, it } from 'vitest';
import { HDKey } from '@scure/bip32';
import { mnemonicToSeedSync } from '@scure/bip39';
import { HDNodeWallet } from 'ethers';
import { evmAddress, isSolanaPublicKey, tronAddress } from '../../src/adapters/wallet/address-format.ts';
import { HARDENED_OFFSET, nativeChildPublicKey, portableChildPublicKey } from '../../src/adapters/wallet/child-public-key.ts';
import { InvalidExtendedPublicKey, readExtendedPublicKey } from '../../src/adapters/wallet/extended-public-key.ts';
import { startHdDerivation } from '../../src/adapters/wallet/hd-derivation.ts';
import { InvalidSolanaPool, signerSolanaDeriver, solanaPoolDeriver } from '../../src/adapters/wallet/solana-pool.ts';
import { base58, fromBase58 } from '../../src/runtime/base58.ts';

const MNEMONIC = 'test test test test test test test test test test test junk';
const root = HDKey.fromMasterSeed(mnemonicToSeedSync(MNEMONIC));
const xpubOf = (path: string): string => root.derive(path).publicExtendedKey;
const EVM_XPUB = xpubOf("m/44'/60'/0'/0");
const TRON_XPUB = xpubOf("m/44'/195'/0'/0");
const SOLANA_KEY = 'oeYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq96';

describe('addresses of an extended public key', () => {
  const hd = startHdDerivation();
  afterAll(() => hd.close());

  it('are the published EVM ones, checksummed', async () => {
    expect(await hd.deriver('test', 'evm', EVM_XPUB).derive(0, 3)).toEqual([
      '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
      '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
      '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
    ]);
  });

  it('are the published TRON one, in base58check', async () => {
    expect(await hd.deriver('test', 'tron', TRON_XPUB).derive(0, 1)).toEqual(['TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6']);
  });

  it('are those of an independent implementation at scattered indexes, also across job borders', async () => {
    const wallet = HDNodeWallet.fromPhrase(MNEMONIC, undefined, "m/44'/60'/0'/0");
    const derived = await hd.deriver('live', 'evm', EVM_XPUB).derive(0, 1030);
    for (const index of [0, 1, 7, 1023, 1024, 1029]) expect(derived[index]).toBe(wallet.deriveChild(index).address);
    expect(derived).toHaveLength(1030);
    expect(new Set(derived).size).toBe(1030);
    expect(await hd.deriver('live', 'evm', EVM_XPUB).derive(HARDENED_OFFSET - 1, 1)).toEqual([wallet.deriveChild(HARDENED_OFFSET - 1).address]);
  });

  it('are the same with the native curve and in plain JavaScript', () => {
    const native = nativeChildPublicKey();
    expect(native).not.toBeNull();
    const key = readExtendedPublicKey(TRON_XPUB);
    for (const index of [0, 1, 2, 255, 65_536, HARDENED_OFFSET - 1]) {
      expect(Buffer.from(native!(key, index)).toString('hex')).toBe(Buffer.from(portableChildPublicKey(key, index)).toString('hex'));
    }
  });

  it('are the same from the account key as from its external branch', async () => {
    expect(await hd.deriver('test', 'evm', xpubOf("m/44'/60'/0'")).derive(5, 2)).toEqual(await hd.deriver('test', 'evm', EVM_XPUB).derive(5, 2));
  });

  it('do not exist for hardened or negative indexes', async () => {
    const deriver = hd.deriver('test', 'evm', EVM_XPUB);
    await expect(deriver.derive(HARDENED_OFFSET - 1, 2)).rejects.toThrow(RangeError);
    await expect(deriver.derive(-1, 1)).rejects.toThrow(RangeError);
  });

  it('are refused after the derivation was closed', async () => {
    const other = startHdDerivation();
    const deriver = other.deriver('test', 'evm', EVM_XPUB);
    await other.close();
    await expect(deriver.derive(0, 1)).rejects.toThrow('closed');
  });
});

describe('an extended public key', () => {
  it('may never be a private one, and the message does not repeat it', () => {
    const xprv = root.derive("m/44'/60'/0'/0").privateExtendedKey;
    expect(() => readExtendedPublicKey(xprv)).toThrow(InvalidExtendedPublicKey);
    expect(() => readExtendedPublicKey(xprv)).toThrow(/^(?!.*xprv)/);
  });

  it('must be one, intact and at the right depth', () => {
    for (const bad of ['', 'xpub', `${EVM_XPUB}1`, EVM_XPUB.replace('D', 'E'), root.publicExtendedKey, xpubOf("m/44'/60'/0'/0/0")]) {
      expect(() => readExtendedPublicKey(bad)).toThrow(InvalidExtendedPublicKey);
    }
  });
});

describe('address forms', () => {
  it('write leading zero bytes in base58 as ones', () => {
    expect(base58(new Uint8Array(32))).toBe('1'.repeat(32));
    expect(base58(Uint8Array.of(0, 0, 1))).toBe('112');
    expect(base58(Buffer.from('hello world'))).toBe('StV1DL6CwTryKyV');
    expect(Buffer.from(fromBase58('StV1DL6CwTryKyV')!).toString()).toBe('hello world');
    expect(fromBase58('112')).toEqual(Buffer.of(0, 0, 1));
    expect(fromBase58('0OIl')).toBeNull();
  });

  it('checksum an EVM address as EIP-55 does', () => {
    const key = portableChildPublicKey(readExtendedPublicKey(EVM_XPUB), 9);
    expect(evmAddress(key)).toBe('0xa0Ee7A142d267C1f36714E4a8F75612F20a79720');
    expect(tronAddress(key)).toMatch(/^T[1-9A-HJ-NP-Za-km-z]{33}$/);
  });
});

describe('a Solana pool', () => {
  it('gives its keys by their place and no more than it has', async () => {
    const keys = [SOLANA_KEY, '11111111111111111111111111111111', 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'];
    const deriver = solanaPoolDeriver('test', keys);
    expect(deriver.capacity).toBe(3);
    expect(await deriver.derive(1, 5)).toEqual(keys.slice(1));
  });

  it('refuses what is not a public key, and a key that occurs twice', () => {
    for (const bad of ['', '0', SOLANA_KEY.slice(1), `${SOLANA_KEY}1`, '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', '1'.repeat(33)]) {
      expect(isSolanaPublicKey(bad)).toBe(false);
      expect(() => solanaPoolDeriver('test', [SOLANA_KEY, bad])).toThrow(InvalidSolanaPool);
    }
    expect(() => solanaPoolDeriver('test', [SOLANA_KEY, SOLANA_KEY])).toThrow('twice');
  });

  it('asks the signer where it runs beside us', async () => {
    const asked: unknown[] = [];
    const signer = {
      exportSolanaKeys: async (...args: unknown[]) => {
        asked.push(args);
        return [SOLANA_KEY];
      },
    };
    expect(await signerSolanaDeriver('test', signer).derive(4, 1)).toEqual([SOLANA_KEY]);
    expect(asked).toEqual([['test', 4, 1]]);
  });
});
