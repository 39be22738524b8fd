import { ECDH } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { HDKey } from '@scure/bip32';
import { mnemonicToSeedSync } from '@scure/bip39';
import { HDNodeWallet } from 'ethers';
import { evmAddress, isSolanaPublicKey, tronAddress } from '../../../../src/adapters/wallet/address-format.ts';
import { AddressesDisagree, checkedAddresses } from '../../../../src/adapters/wallet/checked-addresses.ts';
import {
  HARDENED_OFFSET,
  nativeChildDerivation,
  portableChildDerivation,
  type ChildDerivation,
} from '../../../../src/adapters/wallet/child-public-key.ts';
import {
  InvalidExtendedPublicKey,
  readExtendedPublicKey,
} from '../../../../src/adapters/wallet/extended-public-key.ts';
import { startHdDerivation } from '../../../../src/adapters/wallet/hd-derivation.ts';
import {
  InvalidSolanaPool,
  signerSolanaDeriver,
  solanaPoolDeriver,
} from '../../../../src/adapters/wallet/solana-pool.ts';
import { base58, fromBase58 } from '../../../../src/chain-formats/base58.ts';

const MNEMONIC = 'test test test test test test test test test test test junk';
const root = HDKey.fromMasterSeed(mnemonicToSeedSync(MNEMONIC));
const xpubOf = (path: string): string => root.derive(path).publicExtendedKey;
const EVM_XPUB = xpubOf("m/44'/60'/0'/0");
const TRON_XPUB = xpubOf("m/44'/195'/0'/0");
/** Non-hardened steps of test vectors 1 and 2 (BIP-32, "Test Vectors"). */
const BIP32_PUBLIC_CHILDREN = [
  {
    parent:
      'xpub68Gmy5EdvgibQVfPdqkBBCHxA5htiqg55crXYuXoQRKfDBFA1WEjWgP6LHhwBZeNK1VTsfTFUHCdrfp1bgwQ9xv5ski8PX9rL2dZXvgGDnw',
    index: 1,
    child:
      'xpub6ASuArnXKPbfEwhqN6e3mwBcDTgzisQN1wXN9BJcM47sSikHjJf3UFHKkNAWbWMiGj7Wf5uMash7SyYq527Hqck2AxYysAA7xmALppuCkwQ',
  },
  {
    parent:
      'xpub6D4BDPcP2GT577Vvch3R8wDkScZWzQzMMUm3PWbmWvVJrZwQY4VUNgqFJPMM3No2dFDFGTsxxpG5uJh7n7epu4trkrX7x7DogT5Uv6fcLW5',
    index: 2,
    child:
      'xpub6FHa3pjLCk84BayeJxFW2SP4XRrFd1JYnxeLeU8EqN3vDfZmbqBqaGJAyiLjTAwm6ZLRQUMv1ZACTj37sR62cfN7fe5JnJ7dh8zL4fiyLHV',
  },
  {
    parent:
      'xpub6FHa3pjLCk84BayeJxFW2SP4XRrFd1JYnxeLeU8EqN3vDfZmbqBqaGJAyiLjTAwm6ZLRQUMv1ZACTj37sR62cfN7fe5JnJ7dh8zL4fiyLHV',
    index: 1_000_000_000,
    child:
      'xpub6H1LXWLaKsWFhvm6RVpEL9P4KfRZSW7abD2ttkWP3SSQvnyA8FSVqNTEcYFgJS2UaFcxupHiYkro49S8yGasTvXEYBVPamhGW6cFJodrTHy',
  },
  {
    parent:
      'xpub661MyMwAqRbcFW31YEwpkMuc5THy2PSt5bDMsktWQcFF8syAmRUapSCGu8ED9W6oDMSgv6Zz8idoc4a6mr8BDzTJY47LJhkJ8UB7WEGuduB',
    index: 0,
    child:
      'xpub69H7F5d8KSRgmmdJg2KhpAK8SR3DjMwAdkxj3ZuxV27CprR9LgpeyGmXUbC6wb7ERfvrnKZjXoUmmDznezpbZb7ap6r1D3tgFxHmwMkQTPH',
  },
] as const;
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
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
    expect(await hd.deriver('live', 'evm', EVM_XPUB).derive(HARDENED_OFFSET - 1, 1)).toEqual([
      wallet.deriveChild(HARDENED_OFFSET - 1).address,
    ]);
  });

  it('are the same with the native curve and in plain JavaScript', () => {
    const native = nativeChildDerivation()!(readExtendedPublicKey(TRON_XPUB));
    const portable = portableChildDerivation(readExtendedPublicKey(TRON_XPUB));
    for (const index of [0, 1, 2, 255, 65_536, HARDENED_OFFSET - 1])
      expect(hexOf(native(index))).toBe(hexOf(portable(index)));
  });

  it('are the ones of an independent implementation for any seed and index', () => {
    const native = nativeChildDerivation()!;
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        fc.nat({ max: HARDENED_OFFSET - 1 }),
        (seed, index) => {
          const branch = HDNodeWallet.fromSeed(seed).derivePath("44'/60'/0'/0");
          const key = readExtendedPublicKey(branch.neuter().extendedKey);
          const { address, publicKey } = branch.deriveChild(index);
          for (const derivation of [native, portableChildDerivation]) {
            expect(
              `0x${ECDH.convertKey(derivation(key)(index), 'secp256k1', undefined, 'hex', 'compressed') as string}`,
            ).toBe(publicKey);
            expect(evmAddress(derivation(key)(index))).toBe(address);
          }
        },
      ),
      { numRuns: 12 },
    );
  });

  it('follow the public derivations of the test vectors of BIP-32', () => {
    for (const { parent, index, child } of BIP32_PUBLIC_CHILDREN) {
      const { publicKey, chainCode } = HDKey.fromExtendedKey(parent);
      const expected = hexOf(HDKey.fromExtendedKey(child).publicKey!);
      for (const derivation of [nativeChildDerivation()!, portableChildDerivation]) {
        const derived = derivation({ publicKey: publicKey!, chainCode: chainCode! })(index);
        expect(ECDH.convertKey(derived, 'secp256k1', undefined, 'hex', 'compressed')).toBe(expected);
      }
    }
  });

  it('do not change when the next ones are derived', () => {
    const childOf = nativeChildDerivation()!(readExtendedPublicKey(EVM_XPUB));
    const first = childOf(0);
    const before = hexOf(first);
    childOf(1);
    expect(hexOf(first)).toBe(before);
  });

  it('are not assigned if a second derivation disagrees with the first', () => {
    const key = readExtendedPublicKey(EVM_XPUB);
    const broken: ChildDerivation = (parent) => {
      const childOf = nativeChildDerivation()!(parent);
      return (index) => childOf(index + 1);
    };
    expect(() => checkedAddresses(broken, { key, format: 'evm', fromIndex: 0, count: 256 })).toThrow(AddressesDisagree);
    expect(() => checkedAddresses(broken, { key, format: 'tron', fromIndex: 7, count: 1 })).toThrow(AddressesDisagree);
    expect(checkedAddresses(nativeChildDerivation()!, { key, format: 'evm', fromIndex: 3, count: 0 })).toEqual([]);
  });

  it('are the same from the account key as from its external branch', async () => {
    expect(await hd.deriver('test', 'evm', xpubOf("m/44'/60'/0'")).derive(5, 2)).toEqual(
      await hd.deriver('test', 'evm', EVM_XPUB).derive(5, 2),
    );
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
    for (const bad of [
      '',
      'xpub',
      `${EVM_XPUB}1`,
      EVM_XPUB.replace('D', 'E'),
      root.publicExtendedKey,
      xpubOf("m/44'/60'/0'/0/0"),
    ]) {
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
    expect(Buffer.from(fromBase58('112')!)).toEqual(Buffer.of(0, 0, 1));
    expect(fromBase58('0OIl')).toBeNull();
  });

  it('checksum an EVM address as EIP-55 does', () => {
    const key = portableChildDerivation(readExtendedPublicKey(EVM_XPUB))(9);
    expect(evmAddress(key)).toBe('0xa0Ee7A142d267C1f36714E4a8F75612F20a79720');
    expect(tronAddress(key)).toMatch(/^T[1-9A-HJ-NP-Za-km-z]{33}$/);
  });
});

describe('a Solana pool', () => {
  it('returns its keys by index, up to its end', async () => {
    const keys = [SOLANA_KEY, '11111111111111111111111111111111', 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'];
    const deriver = solanaPoolDeriver('test', keys);
    expect(deriver.capacity).toBe(3);
    expect(await deriver.derive(1, 5)).toEqual(keys.slice(1));
  });

  it('refuses what is not a public key, and a key that occurs twice', () => {
    for (const bad of [
      '',
      '0',
      SOLANA_KEY.slice(1),
      `${SOLANA_KEY}1`,
      '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
      '1'.repeat(33),
    ]) {
      expect(isSolanaPublicKey(bad)).toBe(false);
      expect(() => solanaPoolDeriver('test', [SOLANA_KEY, bad])).toThrow(InvalidSolanaPool);
    }
    expect(() => solanaPoolDeriver('test', [SOLANA_KEY, SOLANA_KEY])).toThrow('twice');
  });

  it('asks the signer when it runs alongside', async () => {
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
