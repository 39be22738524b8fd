import { registerHooks } from 'node:module';
import { planted } from '../support/planted-change.ts';
import { PLANTS } from './plants.ts';

/*
 * Plants known bugs into the sources as they are loaded, to show that the crash tests find them. Loaded with
 * `--import` by these tests only; `PLANT` names the bugs.
 */

const changes = PLANTS[process.env.PLANT] ?? [];

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const own = changes.filter(({ file }) => url.endsWith(`/${file}`));
    if (own.length === 0) return loaded;
    return { ...loaded, source: planted(String(loaded.source), own) };
  },
});
