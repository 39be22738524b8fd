import { describe, expect, it } from 'vitest';
import { InvalidRedisUrl, parseRedisUrl } from '../../../../src/adapters/redis/url.ts';

describe('the address of Redis', () => {
  it('is one server, with credentials, a database and TLS', () => {
    expect(parseRedisUrl('redis://localhost')).toMatchObject({
      kind: 'single',
      hosts: [{ host: 'localhost', port: 6379 }],
      db: 0,
      tls: false,
    });
    expect(parseRedisUrl('rediss://shop:p%40ss%3Aword@redis.internal:6380/2')).toEqual({
      kind: 'single',
      hosts: [{ host: 'redis.internal', port: 6380 }],
      db: 2,
      username: 'shop',
      password: 'p@ss:word',
      tls: true,
    });
    expect(parseRedisUrl('redis://:secret@[::1]:7000')).toMatchObject({
      hosts: [{ host: '::1', port: 7000 }],
      username: undefined,
      password: 'secret',
    });
  });

  it('is a cluster by some of its nodes', () => {
    expect(parseRedisUrl('rediss+cluster://:secret@a:7000,b:7001, c')).toEqual({
      kind: 'cluster',
      hosts: [
        { host: 'a', port: 7000 },
        { host: 'b', port: 7001 },
        { host: 'c', port: 6379 },
      ],
      username: undefined,
      password: 'secret',
      tls: true,
    });
  });

  it('is the master that sentinels name', () => {
    expect(parseRedisUrl('redis+sentinel://:secret@s1,s2:26380/main/3?sentinel_password=other')).toEqual({
      kind: 'sentinel',
      hosts: [
        { host: 's1', port: 26_379 },
        { host: 's2', port: 26_380 },
      ],
      name: 'main',
      db: 3,
      sentinelPassword: 'other',
      username: undefined,
      password: 'secret',
      tls: false,
    });
  });

  it.each([
    ['localhost:6379', /must be one of redis:/],
    ['http://localhost', /must be one of redis:/],
    ['', /must be one of redis:/],
    ['redis://:very-secret@a:1,b:2', /several hosts: say redis\+cluster/],
    ['redis://:very-secret@host:99999', /host that is not/],
    ['redis://:very-secret@host/main', /database that is not a number/],
    ['redis://:very%secret@host', /percent-encoded/],
    ['redis://:very-secret@host?family=6', /no parameters/],
    ['redis+cluster://:very-secret@a:1,b:2/3', /only database 0/],
    ['redis+sentinel://:very-secret@a:1', /must name the master/],
  ])('%s is refused in words that show no password', (url, message) => {
    const error = (() => {
      try {
        return parseRedisUrl(url);
      } catch (caught) {
        return caught as Error;
      }
    })();
    expect(error).toBeInstanceOf(InvalidRedisUrl);
    expect((error as Error).message).toMatch(message);
    expect((error as Error).message).not.toContain('very');
  });
});
