import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { vetWebhookUrl } from '../../../../src/adapters/webhook-http/url.ts';
import { openCanary } from '../../../../src/composition/canary/account.ts';
import { readConfig } from '../../../../src/config.ts';
import { sealKeystore } from '../../../../src/signer/keys/keystore.ts';
import { SCRYPT_COST } from '../../../../src/signer/keys/sealed-text.ts';
import { Wallet } from '../../../../src/signer/keys/wallet.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

const WORDS = 'test test test test test test test test test test test junk';
let directory: string;
let settings: Record<string, string>;
const put = (name: string, text: string): string => {
  writeFileSync(join(directory, name), text);
  return join(directory, name);
};

beforeAll(() => {
  directory = temporaryFolder('canary');
  settings = {
    CANARY_MERCHANT_FILE: put(
      'merchant.json',
      JSON.stringify({ id: 'mer_1', api_key: 'sk_live_1', api_secret: 'a', webhook_secret: 'b' }),
    ),
    CANARY_KEYSTORE: put(
      'keystore',
      JSON.stringify(sealKeystore('live', WORDS, 'a good passphrase', SCRYPT_COST.randomKey)),
    ),
    CANARY_KEYSTORE_PASSPHRASE_FILE: put('passphrase', 'a good passphrase\n'),
  };
});

const open = async (changes: Record<string, string | undefined> = {}) =>
  openCanary(readConfig({ ...settings, ...changes }));

describe('the settings of canary payments', () => {
  it('are off without any of them', async () => expect(await openCanary(readConfig({}))).toBeNull());

  it('are a merchant and a wallet of its mode', async () => {
    const account = await open();
    expect(account).toMatchObject({ mode: 'live', apiKey: 'sk_live_1' });
    expect(account!.wallet!.treasury).toEqual(new Wallet(WORDS).treasury);
  });

  it('need no wallet where only webhooks are received', async () => {
    const account = await open({
      ROLES: 'api',
      CANARY_KEYSTORE: undefined,
      CANARY_KEYSTORE_PASSPHRASE_FILE: undefined,
    });
    expect(account).toMatchObject({ webhookSecret: 'b', wallet: null });
  });

  it.each([
    [{ CANARY_KEYSTORE: undefined }, 'CANARY_KEYSTORE is missing'],
    [{ CANARY_MERCHANT_FILE: undefined }, 'CANARY_MERCHANT_FILE is missing'],
    [{ CANARY_AMOUNT: '0.01' }, 'CANARY_AMOUNT is 0.01, which DUST_LIMIT'],
    [{ CANARY_MAX_OUT: '0.5' }, 'CANARY_MAX_OUT is 0.5, less than one payment'],
    [{ CANARY_MERCHANT_FILE: '/nowhere.json' }, 'CANARY_MERCHANT_FILE: ENOENT'],
    [{ CANARY_KEYSTORE_PASSPHRASE_FILE: '/nowhere' }, 'CANARY_KEYSTORE_PASSPHRASE_FILE: ENOENT'],
    [{ CANARY_COIN: 'DOGE' }, 'CANARY_COIN'],
    [{ CANARY_AMOUNT: '1e3' }, 'CANARY_AMOUNT'],
  ])('%j is refused by name', (changes, message) => expect(open(changes)).rejects.toThrow(message));

  it('name an invalid merchant file and a wrong passphrase, without a secret', async () => {
    await expect(open({ CANARY_MERCHANT_FILE: put('other.json', '{"api_key":"sk_live_secret"}') })).rejects.toThrow(
      /^CANARY_MERCHANT_FILE: (?!.*secret1).*must hold api_key/,
    );
    await expect(open({ CANARY_KEYSTORE_PASSPHRASE_FILE: put('wrong', 'another passphrase') })).rejects.toThrow(
      /^CANARY_KEYSTORE: (?!.*another)/,
    );
  });

  it("refuse the service's own keys, whose account makes other payments", async () => {
    await expect(open({ WALLET_XPUB_EVM: new Wallet(WORDS).evmXpub })).rejects.toThrow(
      "CANARY_KEYSTORE contains the service's own keys",
    );
    await expect(openCanary(readConfig(settings), [new Wallet(WORDS).treasury])).rejects.toThrow(
      "CANARY_KEYSTORE contains the service's own keys",
    );
  });
});

it("receives webhooks at one path of the service's own address", () => {
  const rules = {
    allowInsecure: false,
    ownHosts: ['pay.shop.com'],
    ownReceiver: 'https://pay.shop.com/canary/webhook',
  };
  expect(vetWebhookUrl('https://pay.shop.com/canary/webhook', rules).ok).toBe(true);
  for (const other of [
    'https://pay.shop.com/',
    'https://pay.shop.com/canary/webhook?x=1',
    'https://pay.shop.com:8443/canary/webhook/..',
  ])
    expect(vetWebhookUrl(other, rules).ok, other).toBe(vetWebhookUrl(other, { ...rules, ownReceiver: 'none' }).ok);
});
