import { expect, it } from 'vitest';
import { needlessKeys, sealingKeyFaults, sealingKeysOf } from '../../../src/settings/sealing-keys.ts';
import { readConfig } from '../../../src/config.ts';
import { SEALED_KINDS } from '../../../src/runtime/cryptography/sealing.ts';

const [MASTER, API, WEBHOOKS, PERSONAL] = ['01', '23', '45', '67'].map((pair) =>
  `${pair}89abcdef5a`.repeat(6).slice(0, 64),
) as [string, string, string, string];
const APART = { API_SECRETS_KEY: API, WEBHOOK_SECRETS_KEY: WEBHOOKS, PERSONAL_DATA_KEY: PERSONAL };
const faults = (env: Record<string, string>): string => sealingKeyFaults(readConfig(env)).join('\n');
const needless = (env: Record<string, string>): string => needlessKeys(readConfig(env)).join('\n');

it('one key replaces those that are not set', () => {
  const keys = sealingKeysOf(readConfig({ MASTER_KEY: MASTER, WEBHOOK_SECRETS_KEY: WEBHOOKS }));
  expect(SEALED_KINDS.map((kind) => keys[kind]?.setting)).toEqual(['MASTER_KEY', 'WEBHOOK_SECRETS_KEY', 'MASTER_KEY']);
  expect(sealingKeysOf(readConfig({ WEBHOOK_SECRETS_KEY: WEBHOOKS }))).toMatchObject({
    'api-secrets': null,
    'personal-data': null,
  });
});

it('each role is started with the keys that it needs, and says which one is missing', () => {
  expect(faults({ MASTER_KEY: MASTER })).toBe('');
  expect(faults({ ...APART })).toBe('');
  expect(faults({ ROLES: 'worker', WEBHOOK_SECRETS_KEY: WEBHOOKS })).toBe('');
  expect(faults({ ROLES: 'signer' })).toBe('');
  expect(faults({ ROLES: 'worker', API_SECRETS_KEY: API })).toMatch(
    /^WEBHOOK_SECRETS_KEY is missing: the role worker needs it/,
  );
  expect(faults({ ROLES: 'api,worker', API_SECRETS_KEY: API, WEBHOOK_SECRETS_KEY: WEBHOOKS })).toMatch(
    /^PERSONAL_DATA_KEY is missing: the role api needs it/,
  );
  expect(faults({ ROLES: 'api' })).toMatch(/^MASTER_KEY is missing/);
  expect(faults({ ROLES: 'worker', WEBHOOK_SECRETS_KEY: WEBHOOKS, ADMIN_PORT: '9100' })).toMatch(
    /^ADMIN_PORT needs API_SECRETS_KEY/,
  );
  expect(faults({ ADMIN_PORT: '9100', MASTER_KEY: MASTER })).toBe('');
});

it('two kinds may not share a first key, but may share retired ones', () => {
  expect(faults({ ...APART, WEBHOOK_SECRETS_KEY: API })).toMatch(
    /^API_SECRETS_KEY and WEBHOOK_SECRETS_KEY are the same key/,
  );
  expect(faults({ ...APART, API_SECRETS_KEY: `${API},${MASTER}`, WEBHOOK_SECRETS_KEY: `${WEBHOOKS},${MASTER}` })).toBe(
    '',
  );
});

it('a key that the role does not need causes a warning', () => {
  expect(needless({ MASTER_KEY: MASTER })).toBe('');
  expect(needless({ ROLES: 'api', ...APART })).toBe('');
  expect(needless({ ROLES: 'worker', WEBHOOK_SECRETS_KEY: WEBHOOKS })).toBe('');
  expect(needless({ ROLES: 'worker', ...APART })).toMatch(
    /^API_SECRETS_KEY is not needed by the role worker: omit it.*\nPERSONAL_DATA_KEY is not needed/,
  );
  expect(needless({ ROLES: 'worker', MASTER_KEY: MASTER })).toMatch(
    /^MASTER_KEY opens more than the role worker needs: give this process WEBHOOK_SECRETS_KEY alone/,
  );
  expect(needless({ ROLES: 'signer', MASTER_KEY: MASTER })).toMatch(
    /^MASTER_KEY opens more than the role signer needs: give this process no key/,
  );
});
