import { expect, it, vi } from 'vitest';
import { EsdbConnection } from '../../../../src/adapters/esdb/connection.ts';

it.each(['colour=blue', 'tlsVerifyCert=false'])(
  'a warning of the driver about an option shows no password: %s',
  async (option) => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    try {
      const connection = new EsdbConnection(`esdb://operator:hidden-word@127.0.0.1:1?tls=false&${option}`, {
        attemptMs: 100,
        totalMs: 100,
      });
      await connection.close();
      expect(warn).toHaveBeenCalledTimes(1);
      expect(warn.mock.calls.flat().join('\n')).toContain(option.split('=')[0]);
      expect(warn.mock.calls.flat().join('\n')).not.toContain('hidden-word');
    } finally {
      warn.mockRestore();
    }
  },
);
