package org.apache.iceberg.rest;

import org.apache.iceberg.catalog.TableIdentifier;

/**
 * The kit's catalog tests, asking for locations inside the warehouse where the kit asks for folders under /tmp, and
 * with what the kit leaves out for REST: nested namespaces, and slashes in names.
 */
public class InWarehouseCatalogTests extends RESTCompatibilityKitCatalogTests {
  @Override
  protected String baseTableLocation(TableIdentifier table) {
    return "s3://" + System.getProperty("warehouse") + "/asked/" + table.namespace() + "/" + table.name();
  }

  @Override
  protected boolean supportsNestedNamespaces() {
    return true;
  }

  @Override
  protected boolean supportsNamesWithSlashes() {
    return true;
  }
}
