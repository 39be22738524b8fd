import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseConnectionString } from '../../../../src/adapters/esdb/client/settings.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

describe('a connection string of the event store', () => {
  it('names hosts, a user and how to connect, in any case', () => {
    expect(
      parseConnectionString(
        'esdb://quittance-api:a%40b%3Ac:d@one:2114,[::1]:2113,10.0.0.1?TLS=false&node_preference=Follower&keepAliveInterval=-1&discoveryInterval=20',
      ),
    ).toEqual({
      endpoints: [
        { host: 'one', port: 2114 },
        { host: '::1', port: 2113 },
        { host: '10.0.0.1', port: 2113 },
      ],
      discovers: true,
      nodePreference: 'follower',
      maxDiscoverAttempts: 10,
      discoveryIntervalMs: 20,
      gossipTimeoutMs: 5_000,
      tls: null,
      login: { name: 'quittance-api', password: 'a@b:c:d' },
      connectionName: 'quittance',
      keepAliveIntervalMs: null,
      keepAliveTimeoutMs: 10_000,
    });
  });

  it.each(['esdb', 'esdb+discover', 'kurrentdb', 'kurrentdb+discover', 'kdb'])(
    '%s:// asks the nodes for their leader if it says so',
    (scheme) => {
      const settings = parseConnectionString(`${scheme}://store.example/?tls=false`);
      expect(settings.endpoints).toEqual([{ host: 'store.example', port: 2113 }]);
      expect(settings.discovers).toBe(scheme.endsWith('+discover'));
      expect(settings.login).toBeNull();
    },
  );

  it('uses TLS unless it says otherwise, and ignores files of an authority without it', () => {
    expect(parseConnectionString('esdb://one').tls).toEqual({});
    expect(parseConnectionString('esdb://one?tls=false&tlsCAFile=/none').tls).toBeNull();
  });

  const broken = join(temporaryFolder('settings'), 'broken.crt');
  writeFileSync(broken, '-----BEGIN CERTIFICATE-----\nbm8=\n-----END CERTIFICATE-----\n');

  it.each([
    ['http://name:hidden-word@one', /the form esdb:/],
    ['esdb://name:hidden-word@', /the form esdb:/],
    ['esdb://name:hidden-word@one:99999', /a host is/],
    ['esdb://name:hidden-word@one,,two', /a host is/],
    ['esdb://name:hidden-word%E0@one', /percent-encoded/],
    ['esdb://name:hidden-word@one?colour=blue', /no option "colour"/],
    ['esdb://name:hidden-word@one?tls=maybe', /tls is true or false/],
    ['esdb://name:hidden-word@one?tlsVerifyCert=false', /tlsCAFile/],
    ['esdb://name:hidden-word@one?gossipTimeout=soon', /gossipTimeout is a whole number/],
    ['esdb://name:hidden-word@one?nodePreference=best', /nodePreference is one of/],
    ['esdb://name:hidden-word@one?tlsCAFile=/none/there', /tlsCAFile/],
    [`esdb://name:hidden-word@one?tlsCAFile=${broken}`, /tlsCAFile/],
    ['esdb://name:hidden-word@one?connectionName=%C3%A9', /connectionName has printable/],
    ['esdb://name:hidden-word@one?userCertFile=/a', /belong together/],
  ])('that says %s is refused with its fault and without its password', (text, fault) => {
    let refused: unknown;
    try {
      parseConnectionString(text);
    } catch (error) {
      refused = error;
    }
    expect(refused).toBeInstanceOf(TypeError);
    expect(String(refused)).toMatch(fault);
    expect(`${String(refused)} ${(refused as Error).stack}`).not.toContain('hidden-word');
  });
});
