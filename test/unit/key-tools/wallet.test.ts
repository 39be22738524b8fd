import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { runWalletTool } from '../../../src/key-tools/wallet.ts';
import { silentLog } from '../../../src/ports/log.ts';
import { openKeystore } from '../../../src/signer/keys/keystore.ts';
import { Wallet } from '../../../src/signer/keys/wallet.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const MNEMONIC = 'test test test test test test test test test test test junk';
const PASSPHRASE = 'correct horse battery';

let directory: string;
beforeAll(() => {
  directory = temporaryFolder('wallet-tools');
  writeFileSync(join(directory, 'passphrase'), `${PASSPHRASE}\n`);
  writeFileSync(join(directory, 'words'), `${MNEMONIC}\n`);
});

const at = (name: string): string => join(directory, name);
const run = (command: string, args: Record<string, string | boolean>, env: Record<string, string> = {}) =>
  runWalletTool(
    `wallet.${command}`,
    { mode: 'test', passphraseFile: at('passphrase'), ...args },
    { ...env },
    silentLog,
  );

describe('the wallet tools', () => {
  it('create a keystore that only its owner can read and only the passphrase opens, and never replace one', async () => {
    const made = (await run('init', { keystore: at('new.json') })) as { treasury: { evm: string } };
    const text = readFileSync(at('new.json'), 'utf8');
    const words = openKeystore(text, 'test', PASSPHRASE);
    expect(words.split(' ')).toHaveLength(24);
    expect(text + JSON.stringify(made)).not.toContain(words.slice(0, 20));
    expect(made.treasury.evm).toBe(new Wallet(words).treasury.evm);
    expect(statSync(at('new.json')).mode & 0o777).toBe(0o600);
    await expect(run('init', { keystore: at('new.json') })).rejects.toThrow(/never replaced/);
    expect(readFileSync(at('new.json'), 'utf8')).toBe(text);
  });

  it('import given words, and show none', async () => {
    const made = await run('init', { keystore: at('brought.json'), import: at('words') });
    expect(JSON.stringify(made)).not.toContain('junk');
    expect(openKeystore(readFileSync(at('brought.json'), 'utf8'), 'test', PASSPHRASE)).toBe(MNEMONIC);
  });

  it('export public keys that verify with their own wallet and with no other', async () => {
    const wallet = new Wallet(MNEMONIC);
    const brought = { TEST_WALLET_MNEMONIC: MNEMONIC };
    const exported = (await run(
      'export-watch-only',
      { solanaPool: '40', solanaPoolFile: at('pool') },
      brought,
    )) as Record<string, string>;
    expect(exported).toEqual({
      TEST_WALLET_XPUB_EVM: wallet.evmXpub,
      TEST_WALLET_XPUB_TRON: wallet.tronXpub,
      TEST_WALLET_SOLANA_POOL: at('pool'),
    });
    expect(readFileSync(at('pool'), 'utf8').trim().split('\n')).toEqual(wallet.solanaPublicKeys(0, 40));
    expect(await run('verify', {}, { ...brought, ...exported })).toMatchObject({
      wallet: 'opens',
      TEST_WALLET_SOLANA_POOL: 'of this wallet',
    });
    await expect(run('verify', { keystore: at('new.json') }, exported)).rejects.toThrow(
      /WALLET_XPUB_EVM.*WALLET_SOLANA_POOL: of another wallet/,
    );
  });

  it.each([
    ['init', { mode: 'both', keystore: 'k' }, /mode must be test or live/],
    ['init', { keystore: '/nowhere/at/all.json' }, /cannot be written/],
    ['init', { keystore: 'k', passphraseFile: '/nowhere' }, /passphrase-file: .*cannot be read/],
    ['init', { keystore: 'k', import: '/nowhere' }, /import: .*cannot be read/],
    ['export-watch-only', { solanaPool: '-1' }, /solana-pool must be/],
    ['verify', {}, /no wallet: name a file/],
  ] as const)('name what is wrong: %s %o', async (command, args, message) => {
    await expect(run(command, args)).rejects.toThrow(message);
  });
});
