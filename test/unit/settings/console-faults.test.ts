import { describe, expect, it } from 'vitest';
import { consoleFaults } from '../../../src/settings/console-faults.ts';
import { readConfig } from '../../../src/config.ts';

const CONSOLE = { CONSOLE_PORT: '8082', CONSOLE_URL: 'https://console.shop.example' };
const SSO = { CONSOLE_SSO_ISSUER: 'https://login.shop.example', CONSOLE_SSO_CLIENT_ID: 'quittance' };
const faultsOf = (env: Record<string, string>): unknown[] =>
  consoleFaults(readConfig({ ...CONSOLE, ...env })).filter((fault) => fault !== false);

describe('the settings of the console', () => {
  it('are fine with and without single sign-on', () => {
    expect(faultsOf({})).toEqual([]);
    expect(faultsOf(SSO)).toEqual([]);
    for (const path of ['6f1ad1e2-0f0c-4c5b-9a53-2d0b0a6d8f11/v2.0', 'realms/common', 'common-people'])
      expect(faultsOf({ ...SSO, CONSOLE_SSO_ISSUER: `https://login.shop.example/${path}` })).toEqual([]);
    expect(
      faultsOf({ ...SSO, CONSOLE_SSO_ROLES: '{"payments":"support:mer_1, viewer","audit":"auditor@2027-03-31"}' }),
    ).toEqual([]);
  });

  it.each([
    ['no client', { CONSOLE_SSO_ISSUER: SSO.CONSOLE_SSO_ISSUER }, 'CONSOLE_SSO_CLIENT_ID is missing'],
    ['no provider', { CONSOLE_SSO_CLIENT_ID: 'quittance' }, 'CONSOLE_SSO_ISSUER is missing'],
    [
      'a provider in clear',
      { ...SSO, CONSOLE_SSO_ISSUER: 'http://login.shop.example' },
      'CONSOLE_SSO_ISSUER must start with https',
    ],
    ...['common/v2.0', 'organizations/v2.0/', 'Consumers', 'common/v2.0/.well-known/openid-configuration'].map(
      (path): [string, Record<string, string>, string] => [
        `a provider of everybody’s, ${path}`,
        { ...SSO, CONSOLE_SSO_ISSUER: `https://login.microsoftonline.com/${path}` },
        'CONSOLE_SSO_ISSUER must be your own tenant',
      ],
    ),
    [
      'a role that there is not',
      { ...SSO, CONSOLE_SSO_ROLES: '{"payments":"boss"}' },
      'CONSOLE_SSO_ROLES: roles: boss is not one of',
    ],
    [
      'an auditor for ever',
      { ...SSO, CONSOLE_SSO_ROLES: '{"audit":"auditor"}' },
      'CONSOLE_SSO_ROLES: auditor needs an end date',
    ],
    [
      'an operator of one merchant',
      { ...SSO, CONSOLE_SSO_ROLES: '{"ops":"operator:mer_1"}' },
      'CONSOLE_SSO_ROLES: operator is for the whole service',
    ],
  ])('name what is wrong: %s', (_, env, fault) => {
    expect(faultsOf(env)).toEqual([expect.stringContaining(fault)]);
  });

  it.each([
    ['CONSOLE_SSO_ROLES', 'payments'],
    ['CONSOLE_SSO_ROLES', '["support"]'],
    ['CONSOLE_SSO_SCOPE', 'profile'],
    ['CONSOLE_SSO_ISSUER', 'login.shop.example'],
  ])('refuse invalid values: %s=%s', (name, value) => {
    expect(() => readConfig({ ...SSO, [name]: value })).toThrow(name);
  });
});
