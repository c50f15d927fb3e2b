import java.net.InetSocketAddress;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;

/** Iceberg's own REST fixture over SQLite and files, on the loopback address: PORT FOLDER. */
public class IcebergFixture {
  public static void main(String[] args) throws Exception {
    String folder = args[1];
    Map<String, String> properties =
        Map.of(
            "catalog-impl", "org.apache.iceberg.jdbc.JdbcCatalog",
            "uri", "jdbc:sqlite:" + folder + "/catalog.db",
            "jdbc.schema-version", "V1",
            "warehouse", "file:" + folder + "/warehouse");
    Catalog catalog = CatalogUtil.buildIcebergCatalog("fixture", properties, new Configuration());
    ServletContextHandler handler = new ServletContextHandler(ServletContextHandler.NO_SESSIONS);
    handler.addServlet(new ServletHolder(new RESTCatalogServlet(new RESTCatalogAdapter(catalog))), "/*");
    Server server = new Server(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])));
    server.setHandler(handler);
    server.start();
    System.out.println("ready");
    server.join();
  }
}
