import { existsSync } from 'node:fs';
import type { Shop } from './shop.ts';

/** A WordPress with WooCommerce from `WORDPRESS_DIR`, with Debian's PHP and MariaDB. */
export const woocommerce: Shop = {
  name: 'woocommerce',
  missing() {
    const folder = process.env['WORDPRESS_DIR'];
    if (folder === undefined || !existsSync(folder))
      return 'WORDPRESS_DIR must name a folder with WordPress and WooCommerce';
    return null;
  },
  start: () => Promise.resolve({ cases: [], stop: () => Promise.resolve() }),
};
